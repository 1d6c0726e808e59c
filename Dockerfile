# The image of the server: the runtime and what scripts/image-files.sh lays out, without a shell, without tools.
# It runs as uid 65532, needs no capability, and writes nothing but to VAULT_DATA_DIR, which a server with a Redis
# of somebody else's and a master key of its own does not need either.
#
#     sh scripts/images/build.sh --tag cardvault
#     docker run --rm --read-only --cap-drop ALL --security-opt no-new-privileges --ulimit core=0 cardvault …

# Without defaults: what a release is built from is pinned by digest, in deploy/images.env.
ARG BUILD_IMAGE
ARG BASE_IMAGE

FROM ${BUILD_IMAGE} AS build
RUN npm install --global --allow-scripts=bun bun@1.4.5
WORKDIR /build
COPY . .
RUN sh scripts/image-files.sh /image

FROM ${BASE_IMAGE}
COPY --from=build /usr/local/lib/node_modules/bun/bin/bun.exe /usr/local/bin/bun
COPY --from=build /image /app
WORKDIR /app
# Memory that holds keys and card data must not end up in a crash report.
ENV BUN_ENABLE_CRASH_REPORTING=0 DO_NOT_TRACK=1 VAULT_ENV=production VAULT_HOST=0.0.0.0
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/usr/local/bin/bun", "server/cli/probe.ts"]
ENTRYPOINT ["/usr/local/bin/bun"]
CMD ["server/main.ts"]
