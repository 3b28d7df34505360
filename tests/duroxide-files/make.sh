#!/bin/sh
# Writes the sample files anew. Needs crates.io; takes minutes the first time.
set -eu
cd "$(dirname "$0")"
cargo build --locked --target-dir ../../target/duroxide-files
make=../../target/duroxide-files/debug/duroxide-files
mkdir -p files
rm -f files/*.db*
# Closing does not always copy the log into the file: opened and closed until it has.
close() { until "$make" empty "$1" && [ ! -e "$1-wal" ]; do :; done; }
# Every state, with messages that came afterwards, in one file.
"$make" everything files/everything.db
"$make" mail files/everything.db
close files/everything.db
# The file and the log that a killed process leaves.
close files/crashed.db
"$make" few files/crashed.db
rm -f files/*.db-shm
