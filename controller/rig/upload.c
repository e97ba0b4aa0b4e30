/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upload.c - blocks, what the target has of them, and the file that they make. */
#include "upload.h"

#include "base/base64.h"
#include "base/log.h"
#include "base/parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define REPLY_NS (5 * NSEC_PER_SEC)
#define CHECK_NS (30 * NSEC_PER_SEC) /* unpacking and hashing a whole file on a slow target */
#define STALL_NS (60 * NSEC_PER_SEC) /* a console that is gone may come back */
#define TELL_NS  (10 * NSEC_PER_SEC)
/* A file that is whole and wrong: tried again from its beginning so often. */
#define FILE_TRIES 2

/* What the target's shell has to know. Output is a line "@up <next block> <file>." or "@have". */
static const char *const functions[] = {
	"sr_a(){ echo @up $sr_k $sr_i.;}",
	/* <sha256 of the file> <name of its parts> <compressed bytes> */
	"sr_o(){ sr_i=$2;sr_n=$3;sr_p=$sr_d/$2.part;sr_k=0;if [ -f $sr_d/$1 ];then "
	"case $(sha256sum <$sr_d/$1) in $1*)touch $sr_d/$1;echo @have.;return;;esac;"
	"rm -f $sr_d/$1;fi;if [ -f $sr_p ];then sr_s=$(($(wc -c <$sr_p)));"
	"if [ $((sr_s%sr_z)) = 0 ]||[ $sr_s = $sr_n ];then sr_k=$(((sr_s+sr_z-1)/sr_z));"
	"else rm -f $sr_p;fi;fi;sr_a;}",
	/* <block> <base64>; that it was written shows in the size only: busybox ends with 0 */
	"sr_b(){ if [ $1 = $sr_k ];then printf %s $2|base64 -d >>$sr_p;sr_k=$((sr_k+1));"
	"sr_s=$(($(wc -c <$sr_p)));if [ $sr_s != $((sr_k*sr_z)) ]&&[ $sr_s != $sr_n ];then "
	"rm -f $sr_p;sr_k=0;echo no room for $sr_p;return 1;fi;fi;sr_a;}",
	/* <sha256 of the file> */
	"sr_e(){ if [ ! -f $sr_d/$1 ];then gzip -dc <$sr_p >$sr_p.x;"
	"case $(sha256sum <$sr_p.x) in $1*)chmod 755 $sr_p.x&&mv $sr_p.x $sr_d/$1;;"
	"*)rm -f $sr_p.x;esac;rm -f $sr_p;fi;[ -f $sr_d/$1 ]&&echo @have.||sr_o $1 $sr_i $sr_n;}",
};

static void tell(const struct upload *u, const char *fmt, ...) printf_like(2, 3);

static void tell(const struct upload *u, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_debug(LOG_RIG, "%s", text);
	if (u->tell)
		u->tell(u->self, text);
}

/* A block takes its time on a real line, in this direction only. */
static nsec_t reply_ns(const struct upload *u, size_t bytes)
{
	const uint64_t byte_ns = u->baud ? 10 * (uint64_t)NSEC_PER_SEC / u->baud : 0;

	return REPLY_NS + (nsec_t)(2 * bytes * (byte_ns + u->login->tx_byte_us * 1000ull));
}

enum has { HAS_PART, HAS_ALL };

/* What the target says that it has: all of the file, or everything before the block *ret_next. */
static int parse_has(const struct strbuf *out, const char *id, enum has *ret, uint32_t *ret_next,
		     struct err *e)
{
	auto_free char *end = xasprintf(" %s.", id);
	const char *text = strbuf_str(out);
	const char *hit = strstr(text, "@up ");
	char last[160];

	if (strstr(text, "@have.")) {
		*ret = HAS_ALL;
		return 0;
	}
	if (hit) {
		size_t n = strspn(hit + 4, "0123456789");
		auto_free char *number = xasprintf("%.*s", (int)n, hit + 4);

		*ret = HAS_PART;
		if (strncmp(hit + 4 + n, end, strlen(end)) == 0 &&
		    parse_u32("block", number, 0, UINT32_MAX, ret_next, NULL) == 0)
			return 0;
	}
	talk_last_line(text, last, sizeof(last));
	return err_set(e, ERR_RIG, EAGAIN, "the target says '%s'", last);
}

/* A command whose answer says what the target has; a damaged answer is asked for again. */
static int ask(struct upload *u, const char *command, const char *id, nsec_t wait_ns, enum has *ret,
	       uint32_t *ret_next, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	int r;

	r = login_do(u->login, command, wait_ns, &out, e);
	u->sent_bytes += strlen(command);
	return r < 0 ? r : parse_has(&out, id, ret, ret_next, e);
}

struct transfer {
	const struct target_file *file;
	char id[17]; /* of its compressed bytes */
	uint32_t n_blocks;
	nsec_t until_ns;
	nsec_t moved_ns; /* when the last block was taken */
	nsec_t told_ns;
};

static int send_block(struct upload *u, const struct transfer *t, uint32_t k, enum has *ret,
		      uint32_t *ret_next, struct err *e)
{
	const size_t at = (size_t)k * UPLOAD_BLOCK;
	const size_t left = t->file->packed.len - at;
	const size_t n = left < UPLOAD_BLOCK ? left : UPLOAD_BLOCK;
	auto_strbuf struct strbuf command = STRBUF_INIT;

	strbuf_addf(&command, "sr_b %" PRIu32 " ", k);
	strbuf_add_base64(&command, t->file->packed.data + at, n);
	return ask(u, strbuf_str(&command), t->id, reply_ns(u, command.len), ret, ret_next, e);
}

/* Whether to go on after an answer that did not come: until nothing has moved for too long. */
static int forgive(struct upload *u, const struct transfer *t, uint32_t k, int r, struct err *e)
{
	const nsec_t now_ns = waiter_now(u->login->w);

	if (r == -EAGAIN || r == -ETIMEDOUT) {
		if (now_ns < t->until_ns && now_ns - t->moved_ns < STALL_NS) {
			err_clear(e);
			return 0;
		}
		r = -ETIMEDOUT;
	}
	return r < 0 ? err_wrap(e, "upload of %s, block %" PRIu32 " of %" PRIu32, t->file->name, k,
				t->n_blocks)
		     : r;
}

static int send_blocks(struct upload *u, struct transfer *t, uint32_t next, struct err *e)
{
	while (next < t->n_blocks) {
		const nsec_t now_ns = waiter_now(u->login->w);
		uint32_t wanted = next;
		enum has has;
		int r;

		if (now_ns >= t->until_ns)
			return err_set(e, ERR_RIG, ETIMEDOUT,
				       "upload of %s, block %" PRIu32 " of %" PRIu32
				       ": not done within login.upload_timeout_s (%u s)",
				       t->file->name, next, t->n_blocks,
				       u->login->cfg->upload_timeout_s);
		if (now_ns - t->told_ns >= TELL_NS) {
			tell(u, "upload: %s, %zu of %zu KiB", t->file->name,
			     (size_t)next * UPLOAD_BLOCK >> 10, t->file->packed.len >> 10);
			t->told_ns = now_ns;
		}
		r = send_block(u, t, next, &has, &wanted, e);
		if (r == 0 && wanted > next)
			t->moved_ns = waiter_now(u->login->w);
		r = forgive(u, t, next, r, e);
		if (r < 0)
			return r;
		next = wanted < t->n_blocks ? wanted : t->n_blocks;
	}
	return 0;
}

/* ask() until an answer comes. */
static int ask_anyhow(struct upload *u, const struct transfer *t, const char *command,
		      enum has *ret, uint32_t *ret_next, struct err *e)
{
	for (;;) {
		int r = ask(u, command, t->id, CHECK_NS, ret, ret_next, e);

		if (r == 0)
			return 0;
		r = forgive(u, t, 0, r, e);
		if (r < 0)
			return r;
	}
}

static int send_file(struct upload *u, const struct target_file *f, nsec_t until_ns, struct err *e)
{
	const nsec_t now_ns = waiter_now(u->login->w);
	char sha256[SHA256_HEX_SIZE];
	struct transfer t = {
		.file = f,
		.n_blocks = (uint32_t)((f->packed.len + UPLOAD_BLOCK - 1) / UPLOAD_BLOCK),
		.until_ns = until_ns,
		.moved_ns = now_ns,
		.told_ns = now_ns,
	};
	auto_free char *end = xasprintf("sr_e %s", f->sha256);
	auto_free char *open = NULL;
	uint32_t next = 0;
	enum has has = HAS_PART;
	int r;

	sha256_bytes(f->packed.data, f->packed.len, sha256);
	(void)snprintf(t.id, sizeof(t.id), "%.16s", sha256);
	open = xasprintf("sr_o %s %s %zu", f->sha256, t.id, f->packed.len);
	r = ask_anyhow(u, &t, open, &has, &next, e);
	if (r < 0)
		return r;
	if (has == HAS_ALL) {
		u->n_had++;
		return 0;
	}
	tell(u, "upload: %s, %zu KiB", f->name, f->packed.len >> 10);
	u->n_sent++;
	for (unsigned i = 0; i < FILE_TRIES; i++) {
		r = send_blocks(u, &t, next, e);
		if (r < 0)
			return r;
		r = ask_anyhow(u, &t, end, &has, &next, e);
		if (r < 0 || has == HAS_ALL)
			return r;
	}
	return err_set(e, ERR_RIG, EREMOTEIO,
		       "upload of %s: what the target unpacked is not the file, tried %d times",
		       f->name, FILE_TRIES);
}

static int check_size(const struct upload *u, const struct target_files *files, struct err *e)
{
	const unsigned max_kib = u->login->cfg->upload_max_kib;
	uint64_t bytes = 0;

	for (size_t i = 0; i < files->n; i++)
		bytes += files->v[i].packed.len;
	if (bytes <= (uint64_t)max_kib << 10)
		return 0;
	return err_set(e, ERR_RIG, EFBIG,
		       "upload: agent and modules have %" PRIu64
		       " KiB compressed, login.upload_max_kib allows %u",
		       bytes >> 10, max_kib);
}

/* The folder, and what the shell must be able to do. */
static int set_up(struct upload *u, struct err *e)
{
	auto_free char *folder = xasprintf("sr_d=%s;sr_z=%d;umask 022;mkdir -p $sr_d",
					   u->login->cfg->folder, UPLOAD_BLOCK);
	int r;

	r = login_do(u->login, folder, REPLY_NS, NULL, e);
	if (r == 0)
		r = login_do(u->login,
			     "sr_t(){ for i in base64 gzip sha256sum wc touch;do command -v $i "
			     ">/dev/null||{ echo $i is missing;return 1;};done;};sr_t",
			     REPLY_NS, NULL, e);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(functions); i++)
		r = login_do(u->login, functions[i], REPLY_NS, NULL, e);
	return r;
}

int upload_files(struct upload *u, const struct target_files *files, struct err *e)
{
	const nsec_t since_ns = waiter_now(u->login->w);
	const nsec_t until_ns = since_ns + (nsec_t)u->login->cfg->upload_timeout_s * NSEC_PER_SEC;
	auto_free char *tidy = xasprintf(
		"cd $sr_d&&rm -f *.part *.x&&ls -t|grep -x '[0-9a-f]\\{64\\}'|tail -n +%d|"
		"xargs rm -f;cd /",
		UPLOAD_KEPT + 1);
	int r;

	r = check_size(u, files, e);
	if (r == 0)
		r = set_up(u, e);
	for (size_t i = 0; r == 0 && i < files->n; i++)
		if (files->v[i].packed.len)
			r = send_file(u, &files->v[i], until_ns, e);
	if (r == 0)
		r = login_do(u->login, tidy, REPLY_NS, NULL, e);
	if (r == 0)
		tell(u,
		     "upload: %u files sent, %u were there; %" PRIu64 " KiB of commands in %" PRId64
		     " s",
		     u->n_sent, u->n_had, u->sent_bytes >> 10,
		     (waiter_now(u->login->w) - since_ns) / NSEC_PER_SEC);
	return r;
}
