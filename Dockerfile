# Fumehood itself. It starts agents through the engine's socket, so mount that and your work:
#
#   docker build -t fumehood .
#   docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:/work" fumehood doctor
#
# It runs as root inside: whoever holds the engine's socket is root on that machine anyway, and the socket's
# group differs from host to host. Agents are other containers, hardened, without the socket.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
COPY . /src
RUN python3 -m venv /opt/fumehood && /opt/fumehood/bin/pip install --no-cache-dir --disable-pip-version-check /src
# The guard is C. script/image brings it compiled in dist/; a plain `docker build` compiles it here.
RUN if [ -f /src/dist/guard ]; then cp /src/dist/guard /opt/fumehood/guard; \
    else apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
      && /opt/fumehood/bin/python -m harness.engines.guard /opt/fumehood/guard; fi

FROM ${BASE}
COPY --from=build /opt/fumehood /opt/fumehood
ENV PATH=/opt/fumehood/bin:/usr/local/bin:/usr/bin:/bin FUMEHOOD_GUARD=/opt/fumehood/guard
WORKDIR /work
ENTRYPOINT ["fumehood"]
CMD ["--help"]
