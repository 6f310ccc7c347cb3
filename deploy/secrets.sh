#!/bin/sh
# Writes .env for compose.yaml, once, readable by nobody else: the name that people will open, and two passwords.
set -eu
umask 077
file="$(dirname "$0")/../.env"
[ $# = 1 ] || { echo "usage: sh deploy/secrets.sh books.example.org" >&2; exit 2; }
[ ! -e "$file" ] || { echo ".env is there already; it stays as it is" >&2; exit 1; }
password() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
printf 'SITE=%s\nADMIN_PASSWORD=%s\nWEB_PASSWORD=%s\n' "$1" "$(password)" "$(password)" > "$file"
echo "Wrote .env: keep a copy of it where the backups are."
