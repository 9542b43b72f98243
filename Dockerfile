# dpaudit without a network: `make wheelhouse`, then
#
#   docker build --network=none --tag dpaudit .
#   docker run --rm --network=none --user "$(id -u)" --volume "$PWD:/work" dpaudit audit privacy.toml --out report
#
# The wheels are those of constraints.txt, for the Python of this image.
FROM python:3.12-slim

COPY build/wheelhouse /wheelhouse
RUN python -m pip install --no-cache-dir --no-index --find-links=/wheelhouse dpaudit \
    && useradd --create-home auditor

# Mechanisms are other people's code: they run without rights.
USER auditor
WORKDIR /work
# With --user nobody has a home: a cache of fonts goes where anybody may write.
ENV MPLCONFIGDIR=/tmp/matplotlib
ENTRYPOINT ["dpaudit"]
CMD ["--help"]
