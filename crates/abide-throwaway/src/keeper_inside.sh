# Runs beside the server of keeper.sh, inside of what pg_virtualenv sets up, and does what the owner asks for.

data=$(pg_conftool -s "$PGVERSION" regress show data_directory) || exit 1

say() {
    printf '%s\n' "$*" >&3
}

# Does it, and answers. The server must not inherit our input and output.
act() {
    if "$@" </dev/null >"$notes" 2>&1 3>&-; then
        say "done"
    else
        sed 's/^/note /' "$notes" >&3
        say failed
    fi
}

signal() {
    postmaster=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) || return 0
    # The postmaster first, so that it does not start another process meanwhile. A process that just ended is no error.
    kill "-$1" "$postmaster"
    kill "-$1" $(cat "/proc/$postmaster/task/$postmaster/children") 2>/dev/null
    return 0
}

start() {
    pg_ctlcluster "$PGVERSION" regress start
}

# One that is frozen would not hear of it.
stop() {
    signal CONT && pg_ctlcluster --mode "$1" "$PGVERSION" regress stop
}

restart() {
    stop "$1" && start
}

say "port $PGPORT"
say "user $PGUSER"
say "password $PGPASSWORD"
say "database $PGDATABASE"
say "folder ${PG_CLUSTER_CONF_ROOT%/*}"
say "log $(readlink -f "$PG_CLUSTER_CONF_ROOT/$PGVERSION/regress/log")"
say ready

while read -r request; do
    # It is one of a few words of ours, some with a mode.
    act $request
done

signal CONT 2>/dev/null
exit 0
