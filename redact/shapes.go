package redact

// shape is a rule for secrets with a recognizable form. The search looks for a literal first, and tries the pattern only
// around it.
type shape struct {
	name     string
	literals []string // lower-case; each match of the pattern has one of them
	pattern  string   // of the view; group 1 is the secret if there is a group, otherwise the whole match
	back     int      // how many bytes of the view before the literal a match may begin; 0 means at the literal
	ahead    int      // how many bytes of the text after the literal the pattern may need; 0 means window
	spaced   bool     // white space follows the literal
	free     bool     // the secret may touch letters, digits, '_' and '-' at both ends
	check    func(secret []byte) bool
}

// The alphabets of the secrets.
const (
	letter      = `[0-9A-Za-z]`
	tokenLetter = `[0-9A-Za-z_-]`
	hexLetter   = `[0-9a-f]`
)

// shapes are the rules of known services. Their forms come from the services' own pages, or from tokens that these pages
// show.
var shapes = []shape{
	{name: "github-token", literals: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, pattern: `gh[pousr]_` + letter + `{36}`, check: githubToken},
	{name: "github-fine-grained-token", literals: []string{"github_pat_"}, pattern: `github_pat_` + letter + `{22}_` + letter + `{59}`},
	{name: "gitlab-token", literals: []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-", "glimt-"}, pattern: `gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-` + tokenLetter + `{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?`},
	{name: "bitbucket-password", literals: []string{"atbb"}, pattern: `ATBB` + letter + `{32}`},
	{name: "atlassian-token", literals: []string{"atatt3xffgf0"}, pattern: `ATATT3xFfGF0[0-9A-Za-z_=-]{60,}`},

	{name: "aws-access-key-id", literals: []string{"akia", "asia", "abia", "acca"}, pattern: `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}`, check: notExample},
	{name: "aws-session-token", literals: []string{"iqojb3jpz2lux2vj"}, pattern: `IQoJb3JpZ2luX2Vj[0-9A-Za-z+/=]{40,}`, ahead: 2400},
	{name: "aws-bedrock-key", literals: []string{"absk"}, pattern: `ABSK[0-9A-Za-z+/]{80,}={0,2}`},
	{name: "google-api-key", literals: []string{"aiza"}, pattern: `AIza` + tokenLetter + `{35}`, check: unpublished},
	{name: "google-client-secret", literals: []string{"gocspx-"}, pattern: `GOCSPX-` + tokenLetter + `{28}`},
	{name: "google-access-token", literals: []string{"ya29."}, pattern: `ya29\.[0-9A-Za-z_.-]{30,}`},
	{name: "azure-client-secret", literals: []string{"0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"}, back: 3, pattern: `[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}`},
	{name: "azure-key", literals: []string{"jqqj99"}, back: 52, pattern: letter + `{52}JQQJ99` + letter + `{26}`},
	{name: "digitalocean-token", literals: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, pattern: `do[opr]_v1_` + hexLetter + `{64}`},
	{name: "cloudflare-token", literals: []string{"cfk_", "cfut_", "cfat_"}, pattern: `cf(?:k|ut|at)_` + letter + `{40}` + hexLetter + `{8}`},
	{name: "heroku-key", literals: []string{"hrku-aa"}, pattern: `HRKU-AA` + tokenLetter + `{58}`},

	{name: "openai-key", literals: []string{"t3blbkfj"}, back: 200, pattern: `sk-(?:(?:proj|svcacct|admin)-)?` + tokenLetter + `{20,}T3BlbkFJ` + tokenLetter + `{20,}`},
	{name: "anthropic-key", literals: []string{"sk-ant-"}, pattern: `sk-ant-[a-z]{3,8}[0-9]{2}-` + tokenLetter + `{40,}`, check: notExample},
	{name: "openrouter-key", literals: []string{"sk-or-v1-"}, pattern: `sk-or-v1-` + hexLetter + `{64}`},
	{name: "deepseek-key", literals: []string{"sk-"}, pattern: `sk-` + hexLetter + `{32}`},
	{name: "hugging-face-token", literals: []string{"hf_"}, pattern: `hf_[A-Za-z]{34}`},
	{name: "groq-key", literals: []string{"gsk_"}, pattern: `gsk_` + letter + `{52}`},
	{name: "xai-key", literals: []string{"xai-"}, pattern: `xai-` + letter + `{80}`},
	{name: "perplexity-key", literals: []string{"pplx-"}, pattern: `pplx-` + letter + `{48}`},
	{name: "replicate-token", literals: []string{"r8_"}, pattern: `r8_` + letter + `{37}`},
	{name: "langsmith-key", literals: []string{"lsv2_"}, pattern: `lsv2_(?:pt|sk)_` + hexLetter + `{32}_` + hexLetter + `{10}`},
	{name: "tavily-key", literals: []string{"tvly-"}, pattern: `tvly-(?:dev-|prod-)?` + letter + `{32}`},

	{name: "supabase-key", literals: []string{"sb_secret_"}, pattern: `sb_secret_` + tokenLetter + `{22}_` + tokenLetter + `{8}`},
	{name: "supabase-token", literals: []string{"sbp_"}, pattern: `sbp_(?:v0_)?` + hexLetter + `{40}`},
	{name: "planetscale-secret", literals: []string{"pscale_"}, pattern: `pscale_(?:pw|tkn|oauth)_[0-9A-Za-z_.=-]{32,64}`},
	{name: "databricks-token", literals: []string{"dapi"}, pattern: `dapi` + hexLetter + `{32}(?:-\d)?`},
	{name: "npm-token", literals: []string{"npm_"}, pattern: `npm_` + letter + `{36}`, check: githubToken},
	{name: "pypi-token", literals: []string{"pypi-ageichlwas5vcmc"}, pattern: `pypi-AgEIcHlwaS5vcmc` + tokenLetter + `{50,}`},
	{name: "rubygems-key", literals: []string{"rubygems_"}, pattern: `rubygems_` + hexLetter + `{48}`},
	{name: "crates-token", literals: []string{"cio"}, pattern: `cio` + letter + `{32}`, check: mixed},
	{name: "docker-token", literals: []string{"dckr_pat_", "dckr_oat_"}, pattern: `dckr_[po]at_` + tokenLetter + `{27,40}`},
	{name: "nuget-key", literals: []string{"oy2"}, pattern: `oy2[a-z2-7]{43}`},
	{name: "clojars-token", literals: []string{"clojars_"}, pattern: `CLOJARS_` + hexLetter + `{60}`},

	{name: "slack-token", literals: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxe-", "xoxe.", "xoxs-"}, pattern: `xox[bpares](?:-|\.xox[bp]-)[0-9]{1,13}-[0-9A-Za-z-]{20,}`, check: slackToken},
	{name: "slack-app-token", literals: []string{"xapp-"}, pattern: `xapp-\d-[0-9A-Z]{8,13}-\d{10,14}-` + letter + `{32,80}`},
	{name: "slack-webhook", literals: []string{"hooks.slack.com/", "hooks.slack.com%2f"}, pattern: `(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/([0-9A-Za-z/]{30,80})`, check: notExample},
	{name: "discord-webhook", literals: []string{"/api/webhooks/", "%2fapi%2fwebhooks%2f"}, pattern: `/api/webhooks/[0-9]{17,20}/(` + tokenLetter + `{60,80})`, free: true},
	{name: "telegram-token", literals: []string{":aa"}, back: 12, pattern: `[0-9]{8,12}:AA` + tokenLetter + `{33}`},
	{name: "twilio-key", literals: []string{"sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc", "skd", "ske", "skf"}, pattern: `SK` + hexLetter + `{32}`},
	{name: "sendgrid-key", literals: []string{"sg."}, pattern: `SG\.` + tokenLetter + `{22}\.` + tokenLetter + `{43}`},
	{name: "mailgun-key", literals: []string{"key-"}, pattern: `key-` + hexLetter + `{32}`},
	{name: "mailchimp-key", literals: []string{"-us"}, back: 32, pattern: hexLetter + `{32}-us[0-9]{1,2}`},
	{name: "sentry-token", literals: []string{"sntrys_", "sntryu_"}, pattern: `sntry(?:u_` + hexLetter + `{64}|s_eyJ[0-9A-Za-z+/]{37,}={0,2}_[0-9A-Za-z+/]{43})`, check: sentryToken},
	{name: "stripe-key", literals: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, pattern: `[sr]k_(?:live|test)_` + letter + `{16,}`, check: notExample},
	{name: "webhook-secret", literals: []string{"whsec_"}, pattern: `whsec_[0-9A-Za-z+/]{32,64}={0,2}`},
	{name: "new-relic-key", literals: []string{"nrak-"}, pattern: `NRAK-[0-9A-Z]{27}`},
	{name: "new-relic-license", literals: []string{"nral"}, back: 36, pattern: hexLetter + `{36}NRAL`},
	{name: "linear-key", literals: []string{"lin_api_", "lin_oauth_"}, pattern: `lin_(?:api|oauth)_` + letter + `{40,64}`},
	{name: "notion-token", literals: []string{"ntn_"}, pattern: `ntn_` + letter + `{40,50}`},
	{name: "figma-token", literals: []string{"figd_"}, pattern: `figd_` + tokenLetter + `{38,60}`},
	{name: "airtable-token", literals: []string{"pat"}, pattern: `pat` + letter + `{14}\.` + hexLetter + `{64}`},
	{name: "shopify-token", literals: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, pattern: `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}`},
	{name: "square-token", literals: []string{"eaaa"}, pattern: `EAAA` + tokenLetter + `{60}`},
	{name: "postman-key", literals: []string{"pmak-"}, pattern: `PMAK-` + hexLetter + `{24}-` + hexLetter + `{34}`},
	{name: "grafana-token", literals: []string{"glsa_"}, pattern: `glsa_` + letter + `{32}_` + hexLetter + `{8}`},
	{name: "dynatrace-token", literals: []string{"dt0"}, pattern: `dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}`},

	{name: "netlify-token", literals: []string{"nfp_"}, pattern: `nfp_` + letter + `{36}`},
	{name: "fly-token", literals: []string{"fm1r_", "fm1a_", "fm2_"}, pattern: `fm(?:1[ar]|2)_[0-9A-Za-z+/]{100,}={0,3}`, ahead: 1100},
	{name: "doppler-token", literals: []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, pattern: `dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?` + letter + `{40,44}`},
	{name: "vault-token", literals: []string{"hvs.", "hvb.", "hvr."}, pattern: `hv[sbr]\.` + tokenLetter + `{24,}`},
	{name: "terraform-token", literals: []string{".atlasv1."}, back: 14, pattern: letter + `{14}\.atlasv1\.` + tokenLetter + `{60,70}`},
	{name: "pulumi-token", literals: []string{"pul-"}, pattern: `pul-` + hexLetter + `{40}`},
	{name: "onepassword-token", literals: []string{"ops_eyj"}, pattern: `ops_eyJ[0-9A-Za-z+/_-]{80,}={0,3}`, ahead: 1500},
	{name: "tailscale-key", literals: []string{"tskey-"}, pattern: `tskey-(?:auth|api|client|scim|webhook)-` + letter + `{8,20}(?:CNTRL)?-` + letter + `{16,50}`},
	{name: "age-key", literals: []string{"age-secret-key-1"}, pattern: `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`},
	{name: "jwt", literals: []string{"eyj"}, pattern: `eyJ` + tokenLetter + `{10,}\.eyJ` + tokenLetter + `{10,}\.` + tokenLetter + `{20,}`, ahead: 6000, check: secretJWT},
	{name: "sentry-dsn", literals: []string{"@sentry.io/", ".ingest.sentry.io/"}, back: 90, pattern: `://` + hexLetter + `{32}:(` + hexLetter + `{32})@`, free: true},
	{name: "private-key", literals: []string{"-----begin ", "-----begin%20"}, pattern: `-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`, ahead: 64, free: true},
}
