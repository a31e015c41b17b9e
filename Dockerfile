# assay alone, for databases elsewhere. assay's own clusters (--cluster) need server programs and root
# on the host: see the README.
#
#   docker build -t assay .
#   docker run --rm -e ASSAY_DB -v "$PWD/runs:/data/runs" assay run bank
#
# deploy/chart and deploy/agents-job.yaml run this image on Kubernetes.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make build

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/assay /usr/local/bin/assay
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/assay"]
