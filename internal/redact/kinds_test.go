package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// Secrets in places that a text of someone else had, and that the rules did not know.
var placedSecrets = []string{
	// services
	`const mg = mailgun.client({ username: 'api', key: '[[{h32}-{h8}-{h8}]]' });`, "curl -s -u 'api:[[{h32}-{h8}-{h8}]]' https://api.mailgun.net/v3/domains",
	"url: https://{W}.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/[[{h32}/{h8}-{h4}-{h4}-{h4}-{h12}]]",
	`"https:\/\/{W}.webhook.office.com\/webhookb2\/x\/IncomingWebhook\/[[{h32}\/{h8}-{h4}-{h4}-{h4}-{h12}\/V2{b40}]]"`,
	"https://prod-12.westeurope.logic.azure.com:443/workflows/{h32}/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=[[{b43}]]",
	`await client.login("[[MTE0NjI4OTEwMjM4NTUwMzI1.{_6}.{_38}]]");`, "> [[ODM3MjAxNTU5NDgyMTYzNDU2.{_6}.{_27}]]\n",
	`{"keyName": "key1", "permissions": "FULL", "value": "[[{s86}==]]"}`, "The storage key of acme is [[{s86}==]].", "az storage blob list --account-name {W} --account-key [[{s86}==]]",
	`curl -H "Authorization: SSWS [[00{_40}]]" https://acme.okta.com/api/v1/users`, `{"headers":{"Accept":"*/*","Authorization":"SSWS [[00{_40}]]"}}`,
	`{"text":"{\"headers\":{\\\"Authorization\\\":\\\"SSWS [[00{_40}]]\\\"}}"}`,

	// beside the id of a key
	"User name,Access key ID,Secret access key\nci,[[AKIA{t16}]],[[7a{s37}Q]]\n", "s = boto3.Session('[[AKIA{t16}]]', '[[7a{s37}Q]]')", "credentials.NewStaticCredentials(\"[[ASIA{t16}]]\",\n\t\"[[7a{s37}Q]]\", \"\")",
	"[[AKIA{t16}]]\n[[7a{s37}Q]]\n", "[[AKIA{t16}]]:[[7a{s37}Q]]", `{"row":"ci,[[AKIA{t16}]],[[7a{s37}Q]]\r\n"}`,

	// calls and states
	`c.setPassword("[[qebVv{L1}LDkmGiZ]]");`, `config.setClientSecret( "[[{b12}4xQ]]" )`, "new PostgreSQLContainer<>().withPassword('[[{b12}4xQ]]')", `.username("app").password("[[kR7!pQ2{b6}]]")`,
	`builder.WithPassword("[[{b12}4xQ]]");`, `ks.setKeyStorePassword("[[{b12}4xQ]]".toCharArray());`,
	`{"//npm.example.org/:_auth":"[[Y2k6{b36}]]","always-auth":true}`, "$cred = ConvertTo-SecureString '[[{b9}a5Q]]' -AsPlainText -Force", `ConvertTo-SecureString -AsPlainText -Force -String "[[{b9}a5Q]]"`,
	`{"type":"random_password","name":"db","instances":[{"attributes":{"id":"none","length":20,"special":true,"result":"[[?t{b8}+l_{_7}]]"}}]}`,
	"\"type\": \"random_password\",\n\"instances\": [\n  {\"attributes\": {\"bcrypt_hash\": \"$2a$10${b53}\",\n   \"result\": \"[[{b16}]]\"}},\n  {\"attributes\": {\"bcrypt_hash\": \"$2a$10${b53}\",\n   \"result\": \"[[{b16}]]\"}}]",

	"wandb: Paste an API key from your profile and hit enter: [[{h40}]]", "? Enter your access token: [[{b32}]]\n",
	"the admin password is [[ikKU{L1}rfRRzaMv]]", "The password is now [[qebVvNLDkmGiZ]]. Keep it.",

	// commands whose option comes first
	"kubectl exec r-0 -- redis-cli -a [[{b10}4]] info", "redis-cli -a [[{b10}4]]", "redis-cli -h h -a [[{b10}4]]", `["redis-cli","-a","[[{b10}4]]"]`, "mysql -p[[{b10}4]] app", "mysql -uroot -p[[{b10}4]]",
	"> Cookie: theme=dark; session=[[{h8}-{h4}-{h4}-{h4}-{h12}]]", "set-cookie: sid=[[{h8}-{h4}-{h4}-{h4}-{h12}]]; Path=/", `{"Cookie": "session_id=[[{h8}-{h4}-{h4}-{h4}-{h12}]]"}`, "login session=[[{h32}]]",

	// programs and their files
	`const ld = LaunchDarkly.init("[[sdk-{h8}-{h4}-4{h3}-{h4}-{h12}]]")`, "LD_SDK: x [[sdk-{h8}-{h4}-4{h3}-{h4}-{h12}]]", "curl -H 'Authorization: [[api-{h8}-{h4}-4{h3}-{h4}-{h12}]]' https://app.launchdarkly.com/api/v2/flags",
	"java -jar jenkins-cli.jar -s http://h/ -auth admin:[[{h34}]] list-jobs", `accounts: ["[[0x{h64}]]"]`, `"accounts": [ "[[0x{h64}]]" ]`, "PRIVATE_KEY=[[0x{h64}]]\n",
	"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=86400&X-Amz-Signature=[[{h64}]]", "https%3A%2F%2Fb%2Fk%3FX-Amz-Signature%3D[[{h64}]]",
	"requirepass [[{h64}]]\nmasterauth [[{b19}4]]\n", "redis-server --requirepass [[{b19}4]]", "CONFIG SET requirepass [[{b19}4]]", `"AUTH" "[[{b19}4]]"`, `1768222211.1 [0 10.0.3.4:51122] "auth" "app" "[[{b19}4]]"`,
	"ACL SETUSER worker on >[[{b19}4]] ~jobs:* +all", `"ACL" "SETUSER" "worker" "on" ">[[{b19}4]]"`, "bindpw [[A^{b9}!4]]\n", "rootpw = [[A{b9}!4]]", "rootpw=[[A{b9}!4]]", "network={\n ssid=\"a\"\n psk=\"[[{W}-{W}-{W}]]\"\n}",
	`<machineKey validationKey="[[{h128}]]" decryptionKey="[[{h48}]]" validation="SHA1" />`, "fernet_key = [[{b20}aB4{_20}=]]", "f = Fernet(b'[[{b20}aB4{_20}=]]')", "[smtp]\nfrom = \"a\"\npass = \"[[{b16}a4]]\"\nstarttls = true\n",
	"Unseal Key 1: [[{s40}4aB/]]\nUnseal Key 2: [[{s40}4aB/]]\n", "Recovery Key 3: [[{s40}4aB/]]", "rabbitmqctl add_user app [[{b9}4]]", "rabbitmqctl -q change_password app '[[{b9}4]]'", "define( 'LOGGED_IN_KEY',    '[[+(h4% XwJ-MZ%{b20} sr[{,8oJ!*=_kmx{b9}]]' );",
	`define('NONCE_SALT', '[[Y2 {b20}+*4 {b20}]]');`, "MAIL_HOST=smtp.gmail.com\nMAIL_PASSWORD=\"[[ucjmqnskqpkhxvyk]]\"", "EMAIL_HOST_PASSWORD = '[[ucjm qnsk qpkh xvyk]]'", "smtp_pass: [[ucjmqnskqpkhxvyk]]\n", "host: smtp.gmail.com\npassword: [[ucjmqnskqpkhxvyk]]\n",
	"\"db_password\": {\n    \"sensitive\": true,\n    \"type\": \"string\",\n    \"value\": \"[[{b31}4]]\"\n  }", `{"api_token":{"sensitive":true,"type":"string","value":"[[{b31}4]]"}}`, `"adminPassword": { "value": "[[{b11}4]]" }`,
	"Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):\n  [[jS4{b15}*c]]\n", ">>> AUTH PLAIN [[AGNpLW1haWwAZ2dRNWNQYlRiazVFOWtwQQ==]]", "---> USER feeds\n331 Please specify the password.\n---> PASS [[{b9}4]]\n",
	"USER anna\r\n+OK\r\nPASS [[{b9}4]]\r\n", "xfreerdp /v:10.0.0.31 /u:Administrator /p:[[S3{b8}$41]] /cert:ignore", "xfreerdp3 /p:'[[S3{b8}$41]]' /v:h", `Settings { api_token: Some("[[{b34}4a]]"), retries: 3 }`, `db_password: Some(Secret("[[{b14}4a]]"))`,
	"[\"password\"]=>\n  string(15) \"[[8C3{b12}]]\"\n", "SECRET_KEY = b'[[{b38}4a]]'", "username netops privilege 15 password 0 [[{b9}4]]", "enable secret 0 [[{b9}4]]\n", "auth:\n  client_secret: >-\n    [[{b46}4a]]\n  issuer: x", "db_password: |\n  [[{b16}4a]]\nx: 1",
	`DBI->connect("dbi:Pg:dbname=stock", "stock", "[[{b12}4a]]", { RaiseError => 1 });`, `new PDO('mysql:host=h', 'app', '[[{b12}4a]]')`, `mysqli_connect("h", "u", "[[{b12}4a]]", "d")`, "openssl pkcs12 -in a.p12 -passin pass:[[{W}-{W}-{W}]] -out b", `"-passout","pass:[[{b9}4]]"`,
	"expect \"assword:\"\nsend \"[[{b9}4]]\\r\"\nexpect eof", `expect "*?assword*" { send -- "[[{b9}4]]\r" }`, "ipmitool -I lanplus -H h -U ADMIN -P [[{b12}4]] chassis status", `C:\> net use Z: \\nas01\builds [[{b9}4*]] /user:ACME\b`, `net use Z: \\srv\b [[{b9}4]] /user:a`,
	`let password: String = "[[{b12}4]]";`, `const apiKey: string = "[[{b30}4a]]"`, "olcRootPW: [[{b12}4]]\n", "user app on >[[{b12}4]] ~* +@all\n", "sentinel auth-pass mymaster [[{b12}4]]\n", "plink -ssh -pw [[{b12}4]] h", "\"unseal_keys_b64\": [\n    \"[[{s40}4aB/]]\"\n]",
	"  password: \"[[nimbus-falcon-maple-pepper]]\"\n", "MONGO_INITDB_ROOT_PASSWORD: [[cobalt-garnet-tango]]\n", "signing.password=[[velvet-quartz-juniper]]\n", "export DB_PASSWORD='[[velvet-quartz-juniper]]'", "db_password: [[velvet-quartz-juniper]]\r\n",
}

func TestSecretsAreFoundInTheirPlaces(t *testing.T) {
	t.Parallel()
	m, s := newMaker(41), redact.New()
	for _, place := range placedSecrets {
		for range 20 {
			one := plain(m.fill(strings.NewReplacer("Y2k6{b36}", base64.StdEncoding.EncodeToString([]byte("ci:"+m.letters('b', 30)))).Replace(place)))
			found := s.Find([]byte(one.text))
			for _, secret := range one.secrets {
				assert.GreaterOrEqual(t, share(secret, found), 0.95, "%s: %s", one.text[secret[0]:secret[1]], one.text)
			}
		}
	}
}

// Texts of the same forms without a secret.
var placedHarmless = []string{
	"var pass=e&65535000,x; if token&0xffffffff == 0 { key=seed&0xFF00FF00AA12 }", "The password is validated by PasswordValidatorImpl; password is BCryptPasswordEncoder",
	"mailgun/mailgun.js@{h40}\nrequest {h8}-{h4}-{h4}-{h4}-{h12}\n", "GET /IncomingWebhook/ HTTP/1.1", "MTIzNDU2Nzg5MDEyMzQ1Njc4.a.b Note.that.nothing is here",
	"{b24}.{b6}.{b27}", "import NdkVersionsOfTheApplication.Module1.TypesOfTheApplicationOfAll\n", "sqs_{h40} squ_{h12} pat-na1-config mdb_sa_id_{h24}",
	`{"tool":"random_password","result":"success1"}`, `{"keyName":"a","digest":"{s86}=="}`, `"keyName": "sha", "integrity": "sha512-{s86}=="`, "AccountKey: sha512-{s86}==\n", "Authorization: SSWS ${{api_token}} Authorization: SSWS {yourApiToken}",
	"[[AKIAIOSFODNN7EXAMPLE]],wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
	`c.setPassword(password); c.setPassword("changeit"); form.password("Enter your password"); c.setPassword("getUserPasswordById"); x.password("current_password_field")`,
	`field.setPassword("${DB_PASSWORD_1}"); s.withSecret("prod-database-credentials"); v.setSecret("db-password-2", value); a.setClientSecret("YourClientSecret")`,
	"$s = ConvertTo-SecureString $plain -AsPlainText -Force; ConvertTo-SecureString \"$env:PASSWORD\" -AsPlainText", "ConvertTo-SecureString '01000000d08c9ddf{h64}' -Key $key",
	`{"always_auth":"true","_auth":"${NPM_AUTH}","basic_auth":"{b32}"}`, "resource \"random_password\" \"db\" {\n  length = 20\n}\noutput \"p\" { value = random_password.db.result }\n",
	"DATABASE_PASSWORD=\"encrypted:BO{s160}==\"\nAPI_KEY='encrypted:BO{s160}='\n",
	"address constant token = 0x{h40};\nconst USDC_TOKEN = \"0x{h40}\"\n{\"tokenContract\": \"0x{h40}\", \"contract_token\": \"0x{h40}\"}\n",
	"Paste your API key here: https://example.net/settings/tokens/new?scopes=repo", "Enter the token: ${TOKEN_OF_THE_APPLICATION2}", "Enter your password: ", "Enter the key of the item: {h8}",
	"the password is getUserNameFromDatabase", "the password is passwordFieldLabel", "the password is required", "the passphrase is resetPasswordForAllUsers.", "password is InvalidCredentialsException",
	"login ok user=jo session={h8}-{h4}-{h4}-{h4}-{h12} ip=10.1.2.3\n", "session_id={h8}-{h4}-{h4}-{h4}-{h12} sid={h8}-{h4}-{h4}-{h4}-{h12}", "$request->validate(['password' => 'required|string|min:12|confirmed', 'token' => 'nullable|string|size:40'])", "'password': 'sometimes|required|min:8'",
	"'password': 'pbkdf2_sha256$870000${b22}${s43}='", "rolpassword | SCRAM-SHA-256$4096:{s22}==${s43}=:{s43}=", "password: pbkdf2:sha256:600000${b16}${h64}", "password = \"scrypt:32768:8:1${b16}${h64}\"", "password: argon2id$v=19$m=65536,t=3,p=4${s22}${s43}",
	"DB_PASSWORD=argon2${b22}", "'password': 'bcrypt_sha256$$2b$12${b53}'", "ALTER ROLE app PASSWORD 'SCRAM-SHA-256$4096:{s22}==${s43}=:{s43}=';", "mapboxgl.accessToken = 'pk.eyJ1IjoiYWNtZSIsImEi{b40}.{_22}'", "redis-cli -a $REDIS_PASSWORD", "mysql -p app",
	"sdk-{h8}-{h4}-4{h3}-{h4}-{h12} of a trace", "Pulled docker.io/library/redis@sha256:{h64}", "1/12/2025 12:30, 2/14/2025:{h32}", "accounts: [\"0x{h40}\"]", "requirepass directive is required, masterauth <master-password>, # requirepass foobared", "bindpw secret\nrootpw {SSHA}{b32}\nrootpw --iscrypted $6${b16}",
	"<machineKey validationKey=\"AutoGenerate,IsolateApps\" decryptionKey=\"AutoGenerate\" />", "compass = \"North4east9\"\npass = \"see above\"\npass = \"12/12 tests\"\n", "Unseal Key 1: <key>\nUnseal Progress 1/3", "rabbitmqctl add_user <user> <password>\nrabbitmqctl list_users", "define('AUTH_KEY', 'put your unique phrase here');",
	"MAIL_PASSWORD=\"mailtestpassword\"", "smtp_password: notreallyapasswd", "\"password\": {\"type\": \"string\", \"value\": \"{{ password }}\"}", "\"token\": {\"value\": \"{spacing.large}\"}, \"secret\": {\"value\": \"hidden\"}", "AUTH PLAIN LOGIN CRAM-MD5", "250-AUTH PLAIN LOGINWITHPASSWORDS",
	"331 Please specify the password.\nPASS ********\n", "CREATE USER anna\nPASS $PASSWORD", "xfreerdp /v:h /p:$PASSWORD", "api_token: Some(token_of_the_request2)", "token: Some(\"your-token\")", "[\"password\"]=>\n  string(0) \"\"\n", "password: |\n  Please choose a password that nobody knows\n", "description: >\n  the token\n",
	"password 0 times, secret 0 of 3", "DBI->connect($dsn, $user, $password)", "signal.connect(\"a:b\", \"c\", \"on_clicked\")", "openssl req -passin pass:$PASS -passout pass:password", "expect \"assword:\"\nsend \"$password\\r\"", "ipmitool -I lanplus -H h -U ADMIN -E chassis", "net use * /delete\nnet use Z: \\\\h\\b /user:anna",
	"\"secret\": {\"value\": \"projects/123/secrets/db2\"}", "login_password: one-time-code\n", "password: only-for-admins\n", "CUSTOM_PASS: custom-result-category", "openssl pkcs12 -passin pass:notasecret", "USER fwuser\n     PASS fwpass\nUSER and PASS commands.\n", "password: forgot-your-password\n", "login.password=enter-the-password\n", "PASSWORD: 'field-label-text'", "db_password: my-app-db-credentials\n", "password: some-secret-name\n", "<input password=\"one-two-three\" x>", "{ password: 'menu-side-link' }", "changePassword: app-side-menu\n",
}

func TestNoSecretsAreFoundInTheirPlaces(t *testing.T) {
	t.Parallel()
	m, s := newMaker(42), redact.New()
	for _, place := range placedHarmless {
		for range 20 {
			text := plain(m.fill(place)).text
			assert.Empty(t, s.Find([]byte(text)), text)
		}
	}
}

// A password may begin with a sign that also begins a reference.
func TestPasswordsThatBeginWithASignAreFound(t *testing.T) {
	t.Parallel()
	s := redact.New()
	for _, password := range []string{
		"!kR7pQ2vX9mL4", "$kR7pQ2vX9mL4", "<kR7pQ2vX9mL4", "!7pQ2vX9mL4kR", "$7pQ2-vX9mL4k", "$Pa55word!x9", "!Pa55word!x9", "<7pQ2vX9mL4kR", "!x#7kR9pQ2v", "$!7kR9pQ2vX", "<K7!kR9pQ2vX",
	} {
		for _, text := range []string{"DB_PASSWORD='§'", `DB_PASSWORD="§"`, `{"password":"§"}`, `{"text":"DB_PASSWORD='§'\n"}`} {
			at := strings.Index(text, "§")
			whole := strings.ReplaceAll(text, "§", password)
			assert.GreaterOrEqual(t, share([2]int{at, at + len(password)}, s.Find([]byte(whole))), 1.0, whole)
		}
	}
	for _, reference := range []string{
		"$DB_PASSWORD", "$dbPassword2", "$db_password_2", "$OAuth2Token", "$oauth2Token", "$My_Db_password2", "$env:DB_PASSWORD_2", "$this->password2", "$cfg['password2']", "$(cat /run/secrets/db2)", "${DB_PASSWORD_2:?}",
		"$2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", "$argon2id$v=19$m=65536$c2FsdDEyMw", "$6$rounds=5000$x7Kq9$abc123Def", "$1", "$$", "$.credentials.password2", "$HOME/.pw2/x7Kq",
		"!Ref DbPassword2", "!Sub x7Kq9", "!vault", "!GetAtt Db.Password2", "!isValid2", "!user1.password2", "!!process.env.TOKEN_2", "!token2Factory", "!./secrets/x7.ts", "!**/x7kq/**", "!important",
		"<your password>", "<DB_PASSWORD_2>", "<password2>", "<your", "<PASSWORD", "<%= password2 %>", "<?= $password2 ?>", "<b>Tr0ub4dor</b>", "</span7>", "<<EOF7x2y", "<your-32-character-key>",
	} {
		for _, text := range []string{"DB_PASSWORD='§'", `DB_PASSWORD="§"`, "password: §\n", `{"password":"§"}`, "password = §\n", "sshpass -p § ssh h"} {
			text = strings.ReplaceAll(text, "§", reference)
			assert.Empty(t, s.Find([]byte(text)), text)
		}
	}
}

// The password of a URL ends before the host, also behind a user whose name is one of a secret.
func TestAPasswordEndsBeforeTheHost(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"https://x-access-token:[[ghs_{b36}]]@github.com/acme/shop.git\n", "https://api-key:[[{b40}]]@example.org/x\n", "https://private-token:[[{b20}]]@h:8443/y"} {
		one := plain(newMaker(44).fill(text))
		assert.Equal(t, []string{one.text[one.secrets[0][0]:one.secrets[0][1]]}, secretsIn(redact.NewFinder(nil), one.text), one.text)
	}
}

// An '&' ends a value in a URL and in a form alone.
func TestAValueHasItsAmpersand(t *testing.T) {
	t.Parallel()
	s := redact.New()
	for _, text := range []string{
		"DB_PASSWORD=[[Tr0ub4dor&3x]]\nDB_NAME=shop\n", "A=1\nexport DB_PASSWORD=[[Tr0ub4dor&3x&Kq7]]\n", `{"Env":["PATH=/bin","POSTGRES_PASSWORD=[[Tr0ub4dor&3x]]","A=b"]}`, `{"Env":["POSTGRES_PASSWORD=[[Tr0ub4dor\u00263x]]"]}`,
		`{"text":"A=1\nDB_PASSWORD=[[Tr0ub4dor&3x]]\n"}`, "db_password=[[Tr0ub4dor&3x]]", "docker run -e DB_PASSWORD=[[x&Kq7=Tr0ub4dor]] app", "DB_PASSWORD=[[Tr0ub4dor&3x]]", "DB_PASSWORD=[[Tr0ub4dor&!z]]",
		"POST /login?password=[[Tr0ub4dor]]&3x", "password=[[Tr0ub4dor]]&user=anna", "user=anna&password=[[Tr0ub4dor]]&remember", `curl -d "password=[[Tr0ub4dor]]&user[name]=anna" h`, "-d 'PASSWORD=[[Tr0ub4dor]]&USER=anna'",
		"https://h/x?API_TOKEN=[[7Kq9{b20}]]&region=eu", "DB_PASSWORD=[[Tr0ub4dor]]&& make", "DB_PASSWORD=[[Tr0ub4dor]]& make", "<p>DB_PASSWORD=[[Tr0ub4dor]]&quot;</p>", "&quot;DB_PASSWORD=[[Tr0ub4dor]]&#34;", "payload=A%3D1%0ADB_PASSWORD%3D[[Tr0ub4dor]]&v=1",
	} {
		one := plain(newMaker(43).fill(text))
		found := s.Find([]byte(one.text))
		if assert.Len(t, found, 1, one.text) {
			assert.Equal(t, one.text[one.secrets[0][0]:one.secrets[0][1]], one.text[found[0].Start:found[0].End], one.text)
		}
	}
}

func TestAPrivateKeyHasAnyNumberOfHeaders(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("Zm9vYmFyIGJheiBxdXV4Zm9vYmFyIGJheiBxdXV4Zm9vYmFyIGJheiBxdXV4MTIz\n", 4)
	for _, headers := range []string{"", "Version: OpenPGP.js v5\n\n", "Version: GnuPG v2\nComment: https://example.invalid\n\n", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D\n\n"} {
		text := "-----BEGIN RSA PRIVATE KEY-----\n" + headers + body + "-----END RSA PRIVATE KEY-----"
		found := redact.NewFinder(nil).Find([]byte("key:\n" + text + "\nbehind\n"))
		require.Len(t, found, 1, headers)
		assert.Equal(t, []int{5, 5 + len(text)}, []int{found[0].Start, found[0].End}, headers)
	}
}

func TestTheFolderOfAShellIsNoSecret(t *testing.T) {
	t.Parallel()
	assert.Empty(t, redact.NewFinder(nil).Find([]byte("PWD=/srv/ci/job42/src\nOLDPWD=/srv/ci/job41/src\n")))
}
