package redact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

func TestVariablesAreSecretByTheirNames(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]bool{
		"GITHUB_TOKEN": true, "db_password": true, "STRIPE_SECRET": true, "API_KEY": true, "AWS_CREDENTIALS": true,
		"SSHPASS": true, "MYSQL_PWD": true, "DB_PASS": true, "SMTP_PASS": true, "RABBITMQ_DEFAULT_PASS": true, "GH_PAT": true, "REDIS_AUTH": true,
		"DOCKER_AUTH_CONFIG": true, "BASIC_AUTH": true, "BW_SESSION": true, "APP_COOKIE": true, "SUPABASE_JWT": true, "CONNECTION_STRING": true,
		"ConnectionStrings__Default": true, "DATABASE_DSN": true, "OTEL_EXPORTER_OTLP_HEADERS": true,
		"PWD": false, "OLDPWD": false, "PATH": false, "COMPASS": false, "AUTHOR": false, "GIT_AUTHOR_NAME": false, "SSH_AUTH_SOCK": false, "DESKTOP_SESSION": false, "GIT_ASKPASS": false,
		"XDG_SESSION_TYPE": false, "TERM_SESSION_ID": false, "DBUS_SESSION_BUS_ADDRESS": false, "CLAUDE_SESSION_ID": false, "COMPOSE_PATH_SEPARATOR": false,
		"HOME": false, "KEYBOARD_LAYOUT": false, "TOKENIZERS_PARALLELISM": false, "EDITOR": false,
	} {
		assert.Equal(t, secret, redact.SecretVariable(name), name)
	}
}
