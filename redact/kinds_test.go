package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/redact"
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
