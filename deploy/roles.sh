#!/bin/sh
# Run once by the database's own start: the login of the server, which may do nothing but be `keepbook_app`.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$WEB_PASSWORD" <<'SQL'
CREATE ROLE keepbook_app NOLOGIN NOSUPERUSER NOBYPASSRLS;
CREATE ROLE keepbook_web LOGIN PASSWORD :'password' NOSUPERUSER NOBYPASSRLS;
GRANT keepbook_app TO keepbook_web;
SQL
