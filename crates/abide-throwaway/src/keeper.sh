# Keeps one PostgreSQL server until its standard input ends, which it does when the owner ends, in whatever way.
#
# Arguments: the script to run beside the server (keeper_inside.sh), then the options of pg_virtualenv.
# Standard output is for the owner only: `name value` of what is there, then `ready` or `failed`; afterwards `done` or `failed`
# for each request. Lines that begin with `note` say why.

# The owner may be gone when we answer; its server must be removed all the same.
trap '' PIPE

inside=$1
shift
notes=$(mktemp) || exit 1
export notes
exec 3>&1

if ! pg_virtualenv "$@" sh -c "$inside" >"$notes" 2>&1; then
    sed 's/^/note /' "$notes" >&3
    echo failed >&3
fi
rm -f "$notes"
