package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// FromEnvironment stands for the receiver in OpenTelemetry's own variables.
const FromEnvironment = "env"

// Variables of OpenTelemetry ("OpenTelemetry Protocol Exporter" and "Environment Variable
// Specification"). The exporter itself reads them, and others for headers, certificates,
// compression and timeouts.
const (
	endpointVariable        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	metricsEndpointVariable = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	headersVariable         = "OTEL_EXPORTER_OTLP_HEADERS"
	intervalVariable        = "OTEL_METRIC_EXPORT_INTERVAL"
)

// metricsPath is the default path of OTLP over HTTP.
const metricsPath = "/v1/metrics"

// sendEvery is the default interval. OTLP's own minute is longer than many runs.
const sendEvery = 5 * time.Second

// EndpointError is an invalid address of a receiver. Its text has no part of the address, which may
// hold a password.
type EndpointError struct{ Reason string }

func (e *EndpointError) Error() string {
	return "--otlp: " + e.Reason + "; write http://HOST:PORT, such as http://127.0.0.1:4318, or env for what " + endpointVariable + " names"
}

// endpoint adds the path to an address; empty for FromEnvironment.
func endpoint(address string) (string, error) {
	if address == FromEnvironment {
		if os.Getenv(endpointVariable) == "" && os.Getenv(metricsEndpointVariable) == "" {
			return "", &EndpointError{"the environment has neither " + endpointVariable + " nor " + metricsEndpointVariable}
		}
		return "", nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", &EndpointError{"the address cannot be read"}
	case u.User != nil:
		return "", &EndpointError{"the address has a user or a password, which is for " + headersVariable}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", &EndpointError{"the address does not begin with http://HOST or https://HOST"}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = metricsPath
	}
	return u.String(), nil
}

// Sender sends Metrics to an OTLP receiver, as protobuf over HTTP, under the names for Prometheus.
type Sender struct {
	provider *metric.MeterProvider
	sent     *counted
}

// Send sends m now, and again every few seconds until Close. It returns an *EndpointError for an
// invalid address, and another error if the first sending fails.
func Send(ctx context.Context, address, version string, m *Metrics) (*Sender, error) {
	whole, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	options := []otlpmetrichttp.Option{otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{})} // the next sending has everything
	if whole != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(whole))
	}
	exporter, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	from, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", namespace), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("otlp: %w; look at OTEL_RESOURCE_ATTRIBUTES", err)
	}
	s := &Sender{sent: &counted{Exporter: exporter}}
	reader := []metric.PeriodicReaderOption{metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(m.registry)))}
	if os.Getenv(intervalVariable) == "" {
		reader = append(reader, metric.WithInterval(sendEvery))
	}
	s.provider = metric.NewMeterProvider(metric.WithResource(from), metric.WithReader(metric.NewPeriodicReader(s.sent, reader...)))
	if err := errors.Join(s.provider.ForceFlush(ctx), s.sent.problem()); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; check that a receiver of OTLP over HTTP listens there, whose usual port is 4318", err), s.shutdown())
	}
	return s, nil
}

// Close sends the last figures. The error says how often sending failed.
func (s *Sender) Close() error { return errors.Join(s.shutdown(), s.sent.problem()) }

func (s *Sender) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), sendEvery)
	defer cancel()
	return s.provider.Shutdown(ctx)
}

// counted is an exporter that keeps its errors. The library would write each to standard error,
// through a handler of the whole process.
type counted struct {
	metric.Exporter

	mu          sync.Mutex
	all, failed int
	last        error
}

// Export implements metric.Exporter.
func (c *counted) Export(ctx context.Context, figures *metricdata.ResourceMetrics) error {
	err := c.Exporter.Export(ctx, figures)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	if err != nil {
		c.failed++
		c.last = err
	}
	return nil
}

// problem is nil if all sending succeeded.
func (c *counted) problem() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == 0 {
		return nil
	}
	return fmt.Errorf("otlp: %d of %d times the figures were not taken: %w", c.failed, c.all, c.last)
}
