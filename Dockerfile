# Keepbook as a container: slim, not root, with a root file system that may be read-only. See docs/production.md.

FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/keepbook
COPY deploy/requirements.lock ./deploy/
RUN /opt/keepbook/bin/pip install --no-cache-dir --require-hashes --requirement deploy/requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY scripts/build_day.py ./scripts/
COPY src ./src
RUN /opt/keepbook/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
# pg_dump and pg_restore, for `keepbook backup`. Debian's own security updates decide the version.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home keepbook
COPY --from=build /opt/keepbook /opt/keepbook
ENV PATH=/opt/keepbook/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    KEEPBOOK_DB=/data/keepbook.db \
    KEEPBOOK_OWNER=me
USER 10001
VOLUME /data
WORKDIR /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
ENTRYPOINT ["keepbook"]
CMD ["serve", "--host", "0.0.0.0", "--no-open"]
