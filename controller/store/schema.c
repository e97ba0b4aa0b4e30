/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.c - the tables of a store. */
#include "schema.h"

#define DIGITS "'0123456789'"

/*
 * migrations[i] brings a store of version i to version i + 1. Unknown values are NULL; times end in
 * their unit and clock; what other rows point to has a number of its own as key. The words in
 * braces are explained in db.h.
 */
static const char *const migrations[] = {
	/* 1: runs, and what happened in them */
	"CREATE TABLE rigs ("
	"  rig {key},"
	"  name {text} NOT NULL,"
	"  class {text} NOT NULL,"
	"  arch {text} NOT NULL,"
	"  UNIQUE (name, class, arch)"
	") {strict};"
	"CREATE TABLE kernel_builds ("
	"  kernel_build {key},"
	"  name {text} NOT NULL,"
	"  release {text} NOT NULL,"
	"  version {text} NOT NULL,"
	"  config_sha256 {text} NOT NULL,"
	"  image_sha256 {text} NOT NULL,"
	"  UNIQUE (name, release, version, config_sha256, image_sha256)"
	") {strict};"
	"CREATE TABLE runs ("
	"  run {key},"
	"  id {text} NOT NULL UNIQUE,"
	"  rig {int} NOT NULL REFERENCES rigs,"
	"  kernel_build {int} NOT NULL REFERENCES kernel_builds,"
	"  kernel_label {text} NOT NULL,"
	"  append {text} NOT NULL,"
	"  scenario {text} NOT NULL,"
	"  scenario_sha256 {text} NOT NULL,"
	"  started_wall_ns {int} NOT NULL,"
	"  ended_wall_ns {int},"
	"  limit_us {int} NOT NULL,"
	"  planned_valid {int} NOT NULL CHECK (planned_valid >= 0),"
	"  tolerated_over {real} NOT NULL,"
	"  confidence {real} NOT NULL,"
	"  rig_fault {text},"
	"  untestable {text},"
	"  verdict {text}," /* NULL: not judged yet */
	"  reason {text} NOT NULL,"
	"  strength {text} NOT NULL,"
	"  valid {int} NOT NULL CHECK (valid >= 0),"
	"  over {int} NOT NULL CHECK (over >= 0),"
	"  invalid {int} NOT NULL CHECK (invalid >= 0),"
	"  crashes {int} NOT NULL CHECK (crashes >= 0),"
	"  boots {int} NOT NULL CHECK (boots >= 0),"
	"  boots_over {int} NOT NULL CHECK (boots_over >= 0),"
	"  is_clustered {int} NOT NULL CHECK (is_clustered IN (0, 1)),"
	"  worst_us {int},"
	"  p50_us {int},"
	"  over_low {real} NOT NULL,"
	"  over_high {real} NOT NULL"
	") {strict};"
	"CREATE INDEX runs_started ON runs (started_wall_ns);"
	"CREATE TABLE boots ("
	"  run {int} NOT NULL REFERENCES runs,"
	"  number {int} NOT NULL CHECK (number >= 0),"
	"  recording {text} NOT NULL,"
	"  banner {text} NOT NULL,"
	"  environment {text} NOT NULL,"
	"  console_bytes {int} NOT NULL,"
	"  boot_ms {int},"
	"  PRIMARY KEY (run, number)"
	") {keyed};"
	"CREATE TABLE trials ("
	"  trial {key},"
	"  run {int} NOT NULL REFERENCES runs,"
	"  number {int} NOT NULL CHECK (number >= 0),"
	"  boot {int} NOT NULL,"
	"  unplug {int} NOT NULL CHECK (unplug >= 0),"
	"  started_wall_ns {int} NOT NULL,"
	"  is_valid {int} NOT NULL CHECK (is_valid IN (0, 1)),"
	"  missing {text}," /* NULL: valid, or a crash */
	"  crash {text},"   /* NULL: no crash */
	"  worst_us {int},"
	"  worst_cpu {int},"
	"  worst_probe {text} NOT NULL,"
	"  worst_func {text} NOT NULL,"
	"  console_from {int} NOT NULL,"
	"  console_to {int} NOT NULL,"
	"  UNIQUE (run, number),"
	"  FOREIGN KEY (run, boot) REFERENCES boots (run, number)"
	") {strict};"
	"CREATE TABLE evidence ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  name {text} NOT NULL,"
	"  state {text} NOT NULL,"
	"  detail {text} NOT NULL,"
	"  PRIMARY KEY (trial, name)"
	") {keyed};"
	"CREATE TABLE numbers ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  name {text} NOT NULL,"
	"  value {int} NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") {keyed};"
	"CREATE TABLE delays ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  us {int} NOT NULL,"
	"  cpu {int},"
	"  probe {text} NOT NULL,"
	"  due_us {int} NOT NULL,"
	"  t_host_ns {int} NOT NULL,"
	"  console_offset {int} NOT NULL,"
	"  is_live {int} NOT NULL CHECK (is_live IN (0, 1)),"
	"  is_suspect {int} NOT NULL CHECK (is_suspect IN (0, 1)),"
	"  PRIMARY KEY (trial, seq)"
	") {keyed};"
	"CREATE TABLE incidents ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  class {text} NOT NULL,"
	"  title {text} NOT NULL,"
	"  count {int} NOT NULL CHECK (count >= 0),"
	"  t_first_us {int},"
	"  worst_s {int},"
	"  console_offset {int} NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") {keyed};"
	"CREATE TABLE moments ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  t_ns {int} NOT NULL,"
	"  what {text} NOT NULL,"
	"  detail {text} NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") {keyed};",

	/*
	 * 2: what a lab needs. Rigs, parts and workers are known by their names here: they are
	 * there before any run.
	 */
	"ALTER TABLE runs ADD COLUMN p99_us {int};"
	"CREATE INDEX runs_scenario ON runs (scenario, rig, started_wall_ns);"
	"CREATE INDEX runs_rig ON runs (rig, started_wall_ns);"
	"CREATE INDEX runs_kernel ON runs (kernel_build, started_wall_ns);"
	"CREATE INDEX trials_worst ON trials (worst_us);"
	"CREATE INDEX trials_started ON trials (started_wall_ns);"
	/* titles repeat: each is kept once, and searched once */
	"CREATE TABLE incident_titles ("
	"  incident_title {key},"
	"  class {text} NOT NULL,"
	"  title {text} NOT NULL,"
	"  UNIQUE (class, title)"
	") {strict};"
	"{sqlite:CREATE VIRTUAL TABLE incident_words USING fts5"
	"  (class, title, content='incident_titles', content_rowid='incident_title');}"
	/* the server's own parser keeps paths and host names whole; here a word ends at any sign */
	"{postgres:ALTER TABLE incident_titles ADD COLUMN words tsvector GENERATED ALWAYS AS"
	"  (to_tsvector('simple',"
	"   regexp_replace(class || ' ' || title, '[^[:alnum:]]+', ' ', 'g'))) STORED;"
	" CREATE INDEX incident_titles_words ON incident_titles USING gin (words);}"
	"INSERT INTO incident_titles (class, title) SELECT DISTINCT class, title FROM incidents;"
	"{sqlite:INSERT INTO incident_words (rowid, class, title)"
	"  SELECT incident_title, class, title FROM incident_titles;}"
	"CREATE TABLE incidents_by_title ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  incident_title {int} NOT NULL REFERENCES incident_titles,"
	"  count {int} NOT NULL CHECK (count >= 0),"
	"  t_first_us {int},"
	"  worst_s {int},"
	"  console_offset {int} NOT NULL,"
	"  PRIMARY KEY (trial, seq)"
	") {keyed};"
	"INSERT INTO incidents_by_title SELECT trial, seq, incident_title, count, t_first_us,"
	"  worst_s, console_offset FROM incidents"
	"  JOIN incident_titles AS t ON t.class = incidents.class AND t.title = incidents.title;"
	"DROP TABLE incidents;"
	"ALTER TABLE incidents_by_title RENAME TO incidents;"
	"CREATE INDEX incidents_title ON incidents (incident_title);"
	/* replaced by version 4 */
	"CREATE TABLE histograms ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  probe {text} NOT NULL,"
	"  cpu {int} NOT NULL," /* -1: not bound to one */
	"  samples {int} NOT NULL CHECK (samples >= 0),"
	"  max_ns {int} NOT NULL CHECK (max_ns >= 0),"
	"  counts {blob} NOT NULL,"
	"  PRIMARY KEY (trial, probe, cpu)"
	") {keyed};"
	/* a recording's files: their bytes lie in a shared folder by hash, or in recordings */
	"CREATE TABLE recording_files ("
	"  run {int} NOT NULL REFERENCES runs,"
	"  path {text} NOT NULL," /* in the run's folder */
	"  sha256 {text} NOT NULL,"
	"  bytes {int} NOT NULL CHECK (bytes >= 0),"
	"  PRIMARY KEY (run, path)"
	") {keyed};"
	"CREATE INDEX recording_files_sha256 ON recording_files (sha256);"
	"CREATE TABLE recordings ("
	"  sha256 {text} NOT NULL PRIMARY KEY,"
	"  bytes {int} NOT NULL CHECK (bytes >= 0),"
	"  content {blob} NOT NULL"
	") {strict};"
	"CREATE TABLE wear ("
	"  rig {text} NOT NULL,"
	"  kind {text} NOT NULL CHECK (kind IN ('switch', 'stick')),"
	"  part {text} NOT NULL,"
	"  cycles {int} NOT NULL CHECK (cycles >= 0),"
	"  first_wall_ns {int} NOT NULL,"
	"  last_wall_ns {int} NOT NULL,"
	"  PRIMARY KEY (rig, kind, part)"
	") {keyed};"
	"CREATE TABLE rig_states ("
	"  rig {text} NOT NULL PRIMARY KEY,"
	"  host {text}," /* whose worker served it last */
	"  checked_wall_ns {int},"
	"  is_check_ok {int} CHECK (is_check_ok IN (0, 1)),"
	"  check_text {text},"
	"  quarantined_wall_ns {int}," /* NULL: not in quarantine */
	"  quarantine_reason {text},"
	"  running {text}," /* NULL: nothing */
	"  running_wall_ns {int},"
	"  holder {text}," /* NULL: free */
	"  hold_purpose {text},"
	"  held_wall_ns {int},"
	"  held_until_wall_ns {int}"
	") {strict};"
	"CREATE TABLE workers ("
	"  worker {text} NOT NULL PRIMARY KEY,"
	"  host {text} NOT NULL,"
	"  pid {int} NOT NULL,"
	"  rigs {text} NOT NULL," /* with blanks between them */
	"  started_wall_ns {int} NOT NULL,"
	"  seen_wall_ns {int} NOT NULL"
	") {strict};"
	"CREATE TABLE nights ("
	"  night {key},"
	"  plan {text} NOT NULL,"
	"  plan_sha256 {text} NOT NULL,"
	"  plan_yaml {text} NOT NULL,"
	"  started_wall_ns {int} NOT NULL,"
	"  ended_wall_ns {int}," /* NULL: goes on, or was stopped */
	"  budget_s {int},"
	"  note {text} NOT NULL"
	") {strict};"
	"CREATE INDEX nights_plan ON nights (plan, started_wall_ns);"
	"CREATE TABLE jobs ("
	"  job {key},"
	"  state {text} NOT NULL"
	"   CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),"
	"  kind {text} NOT NULL,"
	"  priority {int} NOT NULL," /* the highest first */
	"  rig {text},"              /* NULL: any */
	"  scenario {text} NOT NULL,"
	"  kernel {text} NOT NULL,"
	"  append {text} NOT NULL,"
	"  trials {int}," /* NULL: the scenario's */
	"  boots {int},"
	"  parameters {text} NOT NULL," /* a JSON object of what this kind needs beside */
	"  night {int} REFERENCES nights,"
	"  item {text}," /* what of the plan it is */
	"  submitted_wall_ns {int} NOT NULL,"
	"  submitted_by {text} NOT NULL,"
	"  not_before_wall_ns {int} NOT NULL,"
	"  attempts {int} NOT NULL,"
	"  attempts_max {int} NOT NULL,"
	"  is_cancel_wanted {int} NOT NULL CHECK (is_cancel_wanted IN (0, 1)),"
	"  worker {text}," /* of the newest attempt */
	"  on_rig {text},"
	"  lease_until_wall_ns {int}," /* NULL: nobody works on it */
	"  started_wall_ns {int},"
	"  ended_wall_ns {int},"
	"  run_id {text}," /* its result, if there is one */
	"  verdict {text},"
	"  error {text},"
	"  UNIQUE (night, item)"
	") {strict};"
	"CREATE INDEX jobs_queued ON jobs (priority DESC, job) WHERE state = 'queued';"
	"CREATE INDEX jobs_running ON jobs (lease_until_wall_ns) WHERE state = 'running';"
	"CREATE INDEX jobs_run ON jobs (run_id);"
	"CREATE TABLE bisects ("
	"  bisect {key},"
	"  id {text} NOT NULL UNIQUE,"
	"  repo {text} NOT NULL,"
	"  good {text} NOT NULL,"
	"  bad {text} NOT NULL,"
	"  rig {text} NOT NULL,"
	"  scenario {text} NOT NULL,"
	"  state {text} NOT NULL,"
	"  n_commits {int} NOT NULL,"
	"  culprit {text}," /* NULL: not known yet */
	"  probability {real},"
	"  next {text} NOT NULL," /* what is tested next and why */
	"  eta_s {int},"
	"  started_wall_ns {int} NOT NULL,"
	"  updated_wall_ns {int} NOT NULL,"
	"  ended_wall_ns {int},"
	"  config {text} NOT NULL" /* a JSON object */
	") {strict};"
	"CREATE INDEX bisects_updated ON bisects (updated_wall_ns);"
	"CREATE TABLE bisect_tests ("
	"  bisect {int} NOT NULL REFERENCES bisects ON DELETE CASCADE,"
	"  seq {int} NOT NULL,"
	"  commit_hash {text} NOT NULL,"
	"  subject {text} NOT NULL,"
	"  verdict {text} NOT NULL,"
	"  trials {int} NOT NULL,"
	"  over {int} NOT NULL,"
	"  worst_us {int},"
	"  run_id {text}," /* of the run with its trials */
	"  tested_wall_ns {int} NOT NULL,"
	"  PRIMARY KEY (bisect, seq)"
	") {keyed};"
	"CREATE TABLE bisect_posteriors ("
	"  bisect {int} NOT NULL REFERENCES bisects ON DELETE CASCADE,"
	"  seq {int} NOT NULL," /* after that many tests */
	"  entropy_bits {real} NOT NULL,"
	"  candidates {text} NOT NULL," /* JSON: [{"commit":…,"probability":…}] the likeliest first
					 */
	"  wall_ns {int} NOT NULL,"
	"  PRIMARY KEY (bisect, seq)"
	") {keyed};",

	/*
	 * 3: what an overview of many runs asks for. A series is what may be compared over time; a
	 * cell is a kernel build in a series, with its newest run that has ended. The kernel series
	 * of what is there already is cut out of the release here as release_series_length() and
	 * release_flavour() do it.
	 */
	"CREATE TABLE series ("
	"  series {key},"
	"  rig_name {text} NOT NULL,"
	"  rig_class {text} NOT NULL,"
	"  scenario {text} NOT NULL,"
	"  limit_us {int} NOT NULL,"
	"  append {text} NOT NULL,"
	"  kernel_series {text} NOT NULL,"
	"  UNIQUE (rig_name, rig_class, scenario, limit_us, append, kernel_series)"
	") {strict};"
	"CREATE TABLE cut_releases AS"
	" SELECT kernel_build,"
	"  CASE WHEN length(rest) < length(release) AND length(rest) > 1"
	"    AND substr(rest, 1, 1) = '.' AND strpos(" DIGITS ", substr(rest, 2, 1)) > 0"
	"   THEN substr(release, 1, length(release) - length(ltrim(substr(rest, 2), " DIGITS ")))"
	"   ELSE substr(release, 1, length(release) - length(rest)) END ||"
	"  CASE WHEN dashed = '' THEN ''"
	"   WHEN length(dashed) < length(release)"
	"    AND strpos(" DIGITS ", substr(release, length(dashed) + 1, 1)) > 0 THEN ''"
	"   ELSE '-' || substr(release, length(dashed) + 1) END AS kernel_series"
	" FROM (SELECT kernel_build, release, ltrim(release, " DIGITS ") AS rest,"
	"  rtrim(release, replace(release, '-', '')) AS dashed FROM kernel_builds) AS parts;"
	"CREATE UNIQUE INDEX cut_releases_key ON cut_releases (kernel_build);"
	"INSERT INTO series (rig_name, rig_class, scenario, limit_us, append, kernel_series)"
	" SELECT DISTINCT rigs.name, class, scenario, limit_us, append, kernel_series"
	" FROM runs JOIN rigs ON rigs.rig = runs.rig"
	" JOIN cut_releases AS c ON c.kernel_build = runs.kernel_build;"
	"ALTER TABLE runs ADD COLUMN series {int} REFERENCES series;"
	"UPDATE runs SET series = (SELECT s.series FROM series AS s, rigs, cut_releases AS c"
	"  WHERE rigs.rig = runs.rig AND c.kernel_build = runs.kernel_build"
	"  AND s.rig_name = rigs.name AND s.rig_class = rigs.class AND s.scenario = runs.scenario"
	"  AND s.limit_us = runs.limit_us AND s.append = runs.append"
	"  AND s.kernel_series = c.kernel_series);"
	"DROP TABLE cut_releases;"
	"CREATE INDEX runs_series ON runs (series, started_wall_ns, run);"
	"CREATE INDEX runs_verdict ON runs (series, verdict, started_wall_ns, run);"
	"CREATE TABLE cells ("
	"  series {int} NOT NULL REFERENCES series,"
	"  kernel_build {int} NOT NULL REFERENCES kernel_builds,"
	"  run {int} NOT NULL REFERENCES runs,"
	"  started_wall_ns {int} NOT NULL," /* of that run */
	"  PRIMARY KEY (series, kernel_build)"
	") {keyed};"
	"INSERT INTO cells SELECT series, kernel_build, run, started_wall_ns FROM"
	"  (SELECT series, kernel_build, run, started_wall_ns, row_number() OVER"
	"   (PARTITION BY series, kernel_build ORDER BY started_wall_ns DESC, run DESC) AS nr"
	"   FROM runs WHERE ended_wall_ns IS NOT NULL) AS ended WHERE nr = 1;"
	"CREATE INDEX cells_newest ON cells (series, started_wall_ns);",

	/* 4: histograms as trials have them; nothing has filled those of version 2 */
	"DROP TABLE histograms;"
	"CREATE TABLE histograms ("
	"  trial {int} NOT NULL REFERENCES trials ON DELETE CASCADE,"
	"  probe {text} NOT NULL,"
	"  samples {int} NOT NULL CHECK (samples >= 0),"
	"  buckets {blob} NOT NULL," /* see histogram.h */
	"  PRIMARY KEY (trial, probe)"
	") {keyed};",

	/* 5: the newest incidents of a title */
	("DROP INDEX incidents_title;"
	 "CREATE INDEX incidents_title ON incidents (incident_title, trial);"),

	/* 6: how far dd was: words "NS:BYTES", the time relative to the cut; NULL = unknown */
	"ALTER TABLE trials ADD COLUMN load_points {text};",
};

const int schema_newest = (int)ARRAY_SIZE(migrations);

const struct schema_table schema_tables[] = {
	{"rigs", "rig", true},
	{"kernel_builds", "kernel_build", true},
	{"series", "series", true},
	{"runs", "run", true},
	{"cells", "series, kernel_build", false},
	{"boots", "run, number", false},
	{"trials", "trial", true},
	{"evidence", "trial, name", false},
	{"numbers", "trial, seq", false},
	{"delays", "trial, seq", false},
	{"incident_titles", "incident_title", true},
	{"incidents", "trial, seq", false},
	{"moments", "trial, seq", false},
	{"histograms", "trial, probe", false},
	{"recordings", "sha256", false},
	{"recording_files", "run, path", false},
	{"wear", "rig, kind, part", false},
	{"rig_states", "rig", false},
	{"workers", "worker", false},
	{"nights", "night", true},
	{"jobs", "job", true},
	{"bisects", "bisect", true},
	{"bisect_tests", "bisect, seq", false},
	{"bisect_posteriors", "bisect, seq", false},
	{NULL, NULL, false},
};

static int check_version(int version, struct err *e)
{
	if (version > schema_newest)
		return err_set(
			e, ERR_STORE, ENOTSUP,
			"its schema version %d is newer than %d, the newest that this stallrig knows",
			version, schema_newest);
	return 0;
}

static int check_for_reading(int version, struct err *e)
{
	if (version == 0)
		return err_set(e, ERR_STORE, EBADMSG, "it is empty, not a store of stallrig");
	if (version < schema_newest)
		return err_set(e, ERR_STORE, EPROTO,
			       "its schema version %d is older than %d; the next run brings it up"
			       " to date",
			       version, schema_newest);
	return 0;
}

static int migrate(struct db *db, void *arg, struct err *e)
{
	int version = 0;
	int r;

	(void)arg;
	r = db_lock_schema(db, e);
	if (r < 0)
		return r;

	/* another process may have done it since the version was read */
	r = db_version(db, &version, e);
	if (r < 0)
		return r;

	for (; version < schema_newest; version++) {
		r = db_script(db, migrations[version], e);
		if (r >= 0)
			r = db_set_version(db, version + 1, e);
		if (r < 0)
			return err_wrap(e, "bringing it to schema version %d", version + 1);
	}
	return 0;
}

static int look(struct db *db, void *arg, struct err *e)
{
	int *version = arg;
	int r;

	r = db_version(db, version, e);
	if (r < 0)
		return r;
	return check_version(*version, e);
}

int schema_prepare(struct db *db, struct err *e)
{
	int version = 0;
	int r;

	r = db_transact(db, DB_SEE, look, &version, e);
	if (r < 0)
		return r;
	if (db_mode(db) == STORE_READ)
		return check_for_reading(version, e);

	r = db_prepare_write(db, e);
	if (r < 0 || version == schema_newest)
		return r;
	return db_transact(db, DB_CHANGE, migrate, NULL, e);
}
