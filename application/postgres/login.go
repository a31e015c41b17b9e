package postgres

import "strings"

// login are the settings that a startup message asks for, as parameters of their own or among those
// for the server's command line (manual 18, "Message Formats", StartupMessage; "Client Connection
// Defaults" and libpq's "options").
func login(message []byte) map[string]string {
	settings := map[string]string{}
	for m := fields(message[min(8, len(message)):]); len(m) > 0; {
		name, value := m.text(), m.text()
		switch name {
		case "", "user", "database", "replication":
		case "options":
			words := words(value)
			for i, word := range words {
				option, long := strings.CutPrefix(word, "--")
				if after, short := strings.CutPrefix(word, "-c"); short {
					if option, long = after, true; after == "" && i+1 < len(words) {
						option = words[i+1]
					}
				}
				if name, value, is := strings.Cut(option, "="); long && is {
					settings[strings.ReplaceAll(strings.ToLower(name), "-", "_")] = value
				}
			}
		default:
			settings[strings.ToLower(name)] = value
		}
	}
	return settings
}

// words are those of a command line, in which a backslash keeps what follows it as it is.
func words(text string) (all []string) {
	word, within := strings.Builder{}, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			within = true
		case strings.IndexByte(" \t\n\r\f\v", c) >= 0:
			if within {
				all = append(all, word.String())
			}
			word.Reset()
			within = false
		default:
			word.WriteByte(c)
			within = true
		}
	}
	if within {
		all = append(all, word.String())
	}
	return all
}

// Settings implements wire.Login, of those that decide what may be lost.
func (t *talk) Settings() map[string]string { return t.login }
