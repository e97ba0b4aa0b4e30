/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_cfg.c - the keys of login, and where its password comes from. */
#include "rig/login_cfg.h"

#include "base/fdio.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX     200
#define PASSWORD_MAX 200 /* at most PORT_SECRET_MAX */

#define TEXT(key, member)                                                                       \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct login_cfg, \
			       member, 1, TEXT_MAX)
#define NUMBER(key, member) CYAML_FIELD_UINT(key, CYAML_FLAG_OPTIONAL, struct login_cfg, member)

const cyaml_schema_field_t login_cfg_fields[] = {TEXT("user", user),
						 TEXT("password_file", password_file),
						 TEXT("password_env", password_env),
						 TEXT("login_prompt", login_prompt),
						 TEXT("password_prompt", password_prompt),
						 TEXT("shell_prompt", shell_prompt),
						 NUMBER("timeout_s", timeout_s),
						 TEXT("folder", folder),
						 NUMBER("upload_timeout_s", upload_timeout_s),
						 NUMBER("upload_max_kib", upload_max_kib),
						 CYAML_FIELD_END};

static int complain(const struct yaml_doc *doc, const char *key_path, const char *key,
		    const char *why, struct err *e)
{
	auto_free char *path = xasprintf("%s.%s", key_path, key);

	return yaml_complain(doc, path, e, "%s", why);
}

static bool is_made_of(const char *text, bool (*is_good)(char c))
{
	for (const char *p = text; *p; p++)
		if (!is_good(*p))
			return false;
	return true;
}

static bool is_printable(char c)
{
	return isprint((unsigned char)c);
}

/* It stands between no quotes in what is typed. */
static bool is_of_path(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("/._+-", c));
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void fill(char **text, const char *usual)
{
	if (!*text)
		*text = xstrdup(usual);
}

int login_cfg_check(struct login_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		    struct err *e)
{
	const struct {
		const char *key, *value;
	} lines[] = {{"user", cfg->user},
		     {"login_prompt", cfg->login_prompt},
		     {"password_prompt", cfg->password_prompt},
		     {"shell_prompt", cfg->shell_prompt}};
	struct {
		const char *key;
		unsigned *value;
		unsigned usual, max;
		const char *why;
	} numbers[] = {
		{"timeout_s", &cfg->timeout_s, 60, 600, "outside 1..600"},
		{"upload_timeout_s", &cfg->upload_timeout_s, 900, 7200, "outside 1..7200"},
		{"upload_max_kib", &cfg->upload_max_kib, 16384, 65536, "outside 1..65536"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].value && !is_made_of(lines[i].value, is_printable))
			return complain(doc, key_path, lines[i].key, "must be one line of ASCII",
					e);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!*numbers[i].value)
			*numbers[i].value = numbers[i].usual;
		if (*numbers[i].value > numbers[i].max)
			return complain(doc, key_path, numbers[i].key, numbers[i].why, e);
	}
	if (cfg->password_file && cfg->password_env)
		return complain(doc, key_path, "password_env", "there is a 'password_file' already",
				e);
	if (cfg->password_file && *cfg->password_file != '/')
		return complain(doc, key_path, "password_file", "must be an absolute path", e);
	if (cfg->password_env && !is_made_of(cfg->password_env, is_of_name))
		return complain(doc, key_path, "password_env",
				"must be the name of an environment variable", e);
	if (cfg->folder &&
	    (*cfg->folder != '/' || !cfg->folder[1] || !is_made_of(cfg->folder, is_of_path)))
		return complain(doc, key_path, "folder",
				"must be an absolute path of letters, digits and ._+-", e);
	fill(&cfg->user, "root");
	fill(&cfg->login_prompt, "login: ");
	fill(&cfg->password_prompt, "assword: ");
	fill(&cfg->shell_prompt, "# ");
	fill(&cfg->folder, "/tmp/stallrig");
	return 0;
}

static int read_password(const char *path, char **ret, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_errno(e, ERR_CONFIG, errno, "password file '%s'", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(
			e, ERR_CONFIG, EACCES,
			"password file '%s': others than its owner can read it, chmod 600 it",
			path);
	r = file_read(path, 4096, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	*ret = xasprintf("%.*s", (int)strcspn(strbuf_str(&text), "\r\n"), strbuf_str(&text));
	explicit_bzero(text.data, text.len);
	return 0;
}

int login_cfg_password(const struct login_cfg *cfg, char **ret, struct err *e)
{
	const char *where = cfg->password_file ? cfg->password_file : cfg->password_env;
	auto_free char *password = NULL;
	int r;

	if (cfg->password_file) {
		r = read_password(cfg->password_file, &password, e);
		if (r < 0)
			return r;
	} else if (cfg->password_env) {
		const char *value = getenv(cfg->password_env);

		if (!value)
			return err_set(e, ERR_CONFIG, ENOENT,
				       "the environment has no variable '%s', which login."
				       "password_env names",
				       cfg->password_env);
		password = xstrdup(value);
	}
	if (password &&
	    (!*password || strlen(password) > PASSWORD_MAX || !is_made_of(password, is_printable)))
		return err_set(e, ERR_CONFIG, EINVAL,
			       "login: the password of '%s' is not 1 to %d characters of ASCII",
			       where, PASSWORD_MAX);
	*ret = take(password);
	return 0;
}

void login_cfg_free(struct login_cfg *cfg)
{
	if (!cfg)
		return;
	char *const owned[] = {cfg->user,         cfg->password_file,   cfg->password_env,
			       cfg->login_prompt, cfg->password_prompt, cfg->shell_prompt,
			       cfg->folder};

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	util_free(cfg);
}
