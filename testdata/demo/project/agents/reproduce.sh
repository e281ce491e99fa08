# Runs the tests and reports what they say. Failing tests are a finding here, not a failure.
results=$(sh tests/run)
echo "$results" >&2
first=$(echo "$results" | sed -n '1s/[\\"]/ /g;1p')
last=$(echo "$results" | tail -n 1)
passed=${last%% passed*}
failed=${last#*, }
printf '{"passed":%d,"failed":%d,"first":"%s"}\n' "$passed" "${failed% failed}" "$first"
