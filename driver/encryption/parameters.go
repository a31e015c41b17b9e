package encryption

import (
	"assay/driver/uri"
	"assay/store"
)

// Parameters for databases without parameters of their own, named as MongoDB's if it has them.
const (
	caFile         = "tlsCAFile"
	certFile       = "tlsCertFile"
	keyFile        = "tlsKeyFile"
	keyPassword    = "tlsKeyFilePassword"
	anyHostname    = "tlsAllowInvalidHostnames"
	anyServer      = "tlsInsecure"
	ParameterNames = caFile + ", " + certFile + ", " + keyFile + ", " + keyPassword + ", " + anyHostname + ", " + anyServer
)

// Take takes these parameters out. given is one of those in the address, or empty. Errors are
// *store.OptionError.
func Take(from uri.Options) (options Options, given string, err error) {
	take := func(name string) string {
		value, is := from.Take(name)
		if is {
			given = name
		}
		return value
	}
	options.CA = File{caFile, take(caFile)}
	options.Certificate, options.Key = File{certFile, take(certFile)}, File{keyFile, take(keyFile)}
	options.Passphrase = Passphrase{keyPassword, take(keyPassword)}
	for name, verify := range map[string]Verification{anyHostname: ChainOnly, anyServer: Nothing} {
		switch value := take(name); value {
		case "", "false":
		case "true":
			options.Verify = max(options.Verify, verify)
		default:
			return options, given, &store.OptionError{Option: name, Value: value, Want: "true, false"}
		}
	}
	return options, given, nil
}

// TakenAdvice is the Advice for these parameters.
func TakenAdvice(off string) Advice {
	return Advice{CA: caFile, Certificate: certFile + "=FILE&" + keyFile + "=FILE", AnyHost: anyHostname + "=true", Off: off}
}
