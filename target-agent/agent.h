/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h - the target's end of the agent link (protocol: docs/protocol.md).
 *
 * One process, one poll loop, no heap: every buffer is a member of struct agent with a fixed size.
 * What could block on a sick kernel (mount, sync, reads of sysfs, dd) runs in a forked worker, so
 * that the loop always answers.
 */
#pragma once

#include "base/err.h"
#include "base/frame.h"

#include <stdbool.h>
#include <sys/types.h>

/* --- answers ------------------------------------------------------------------------------- */

enum answer_kind {
	ANSWER_DATA = 'd', /* one line of text, or the end of one */
	ANSWER_PART = 'p', /* a piece of a line that goes on in the next one */
	ANSWER_OK = 'o',   /* last: encoded key=value words */
	ANSWER_ERR = 'e',  /* last: errno name and an encoded text */
};

/* Takes one piece of an answer, already encoded. */
typedef void (*answer_sink_fn)(void *self, enum answer_kind kind, const char *body);

struct answer {
	answer_sink_fn sink;
	void *self;
	char ok[FRAME_MAX]; /* the words of the final ok so far */
	size_t ok_len;
	bool is_too_long;
};

/* Room for one encoded piece of text: a frame less "@sr <seq> part <index>  <crc>\n". */
#define ANSWER_BODY_MAX (FRAME_MAX - 64)

/* One line of text; longer ones go out in pieces. Line ends inside are not expected. */
void answer_line(struct answer *a, const char *text);
void answer_linef(struct answer *a, const char *fmt, ...) printf_like(2, 3);
/* The text of a file: each of its lines, the last one with or without '\n'. */
void answer_text(struct answer *a, const char *text);
/* Adds key=value to the final ok. */
void answer_word(struct answer *a, const char *key, const char *fmt, ...) printf_like(3, 4);
/* Adds words that are encoded already. */
void answer_encoded(struct answer *a, const char *words);
/* Adds the space-separated key=value pairs of a line. */
void answer_pairs(struct answer *a, const char *line);
/* Sends the final ok (r >= 0) or err (r < 0, text of e). */
void answer_end(struct answer *a, int r, const struct err *e);

/* --- requests and verbs -------------------------------------------------------------------- */

struct request {
	const struct frame *frame;
	const char *root; /* "" on a target; tests: where proc/, sys/ and dev/ lie */
	struct answer *answer;
};

struct verb {
	const char *name;
	/* The key=value words it takes, separated by spaces; NULL = its words have positions. */
	const char *keys;
	size_t min_words, max_words;
	bool is_inline; /* runs in the loop: never blocks; others run in a worker */
	int (*run)(struct request *rq, struct err *e);
};

/* NULL if there is none of that name. */
const struct verb *verb_find(const char *name);
/* Checks number, keys and repetition of the words. -EINVAL names what is wrong. */
int verb_check(const struct verb *v, const struct frame *f, struct err *e) must_check;

/* The value of key=value, or NULL. */
const char *request_get(const struct request *rq, const char *key);
/* As request_get(); -EINVAL if absent or empty. */
int request_need(const struct request *rq, const char *key, const char **ret,
		 struct err *e) must_check;
/* A decimal number; the default if absent. -EINVAL or -ERANGE names key, value and range. */
int request_u64(const struct request *rq, const char *key, uint64_t min, uint64_t max,
		uint64_t absent, uint64_t *ret, struct err *e) must_check;

int verb_cache(struct request *rq, struct err *e) must_check;
int verb_cat(struct request *rq, struct err *e) must_check;
int verb_clock(struct request *rq, struct err *e) must_check;
int verb_dd(struct request *rq, struct err *e) must_check;
int verb_dds(struct request *rq, struct err *e) must_check;
int verb_dmesg(struct request *rq, struct err *e) must_check;
int verb_dmesg_level(struct request *rq, struct err *e) must_check;
int verb_drop_caches(struct request *rq, struct err *e) must_check;
int verb_hold(struct request *rq, struct err *e) must_check;
int verb_info(struct request *rq, struct err *e) must_check;
int verb_irq(struct request *rq, struct err *e) must_check;
int verb_load_module(struct request *rq, struct err *e) must_check;
int verb_mark(struct request *rq, struct err *e) must_check;
int verb_mount(struct request *rq, struct err *e) must_check;
int verb_pin_irq(struct request *rq, struct err *e) must_check;
int verb_probe_control(struct request *rq, struct err *e) must_check;
int verb_probe_read(struct request *rq, struct err *e) must_check;
int verb_probe_samples(struct request *rq, struct err *e) must_check;
int verb_profile(struct request *rq, struct err *e) must_check;
int verb_profile_read(struct request *rq, struct err *e) must_check;
int verb_pstore(struct request *rq, struct err *e) must_check;
int verb_pstore_read(struct request *rq, struct err *e) must_check;
int verb_pstore_remove(struct request *rq, struct err *e) must_check;
int verb_random(struct request *rq, struct err *e) must_check;
int verb_sh(struct request *rq, struct err *e) must_check;
int verb_sha256(struct request *rq, struct err *e) must_check;
int verb_stall(struct request *rq, struct err *e) must_check;
int verb_stick(struct request *rq, struct err *e) must_check;
int verb_symbols(struct request *rq, struct err *e) must_check;
int verb_umount(struct request *rq, struct err *e) must_check;
int verb_unload(struct request *rq, struct err *e) must_check;
int verb_usb_port(struct request *rq, struct err *e) must_check;
int verb_walk(struct request *rq, struct err *e) must_check;
int verb_write(struct request *rq, struct err *e) must_check;

/* --- files of /proc, /sys and /dev --------------------------------------------------------- */

#define SYSFILE_PATH_MAX 512

/* root + path; -ENAMETOOLONG. */
int sysfile_path(const char *root, const char *path, char ret[SYSFILE_PATH_MAX],
		 struct err *e) must_check;
/*
 * Reads up to cap - 1 bytes (NUL-terminated; NUL bytes inside become '?'). Returns the length;
 * *ret_is_cut (may be NULL) tells whether the file was longer. The error names the path.
 */
ssize_t sysfile_read(const char *root, const char *path, char *buf, size_t cap, bool *ret_is_cut,
		     struct err *e) must_check;
/* As sysfile_read() without the trailing white space; false if it cannot be read. */
bool sysfile_word(const char *root, const char *path, char *buf, size_t cap);
/* One write(2) of the whole text: what sysfs, procfs and debugfs expect. */
int sysfile_write(const char *root, const char *path, const char *text, struct err *e) must_check;
/*
 * -EACCES unless path, links followed, lies below one of the folders ("/proc/", "/sys/";
 * NULL-terminated list).
 */
int sysfile_allow(const char *root, const char *path, const char *const *folders,
		  struct err *e) must_check;
/* Mounts debugfs on /sys/kernel/debug unless it is there (or root is not ""). */
int sysfile_debugfs(const char *root, struct err *e) must_check;
/* As sysfile_debugfs(), for pstore on /sys/fs/pstore. */
int sysfile_pstore(const char *root, struct err *e) must_check;

int64_t clock_ns(clockid_t clock);
void sleep_ms(unsigned ms);

/* --- the agent itself ---------------------------------------------------------------------- */

/* A forked worker and the pipe on which its answer comes. */
struct job {
	pid_t pid; /* 0 = none */
	int fd;
	bool has_answered;
	char line[FRAME_MAX]; /* kind and body, not yet complete */
	size_t len;
};

/*
 * Forks a worker that runs the verb; it keeps none of the agent's close_fds (n of them). The frame
 * is not needed afterwards.
 */
int job_start(struct job *j, const struct verb *v, const struct frame *f, const char *root,
	      const int *close_fds, size_t n, struct err *e) must_check;
/* SIGKILL to the worker and to what it started; its answer is lost. No-op without one. */
void job_kill(struct job *j);
/*
 * Reads what the worker has written and hands each piece to sink; does not block. True once the
 * worker has ended; one that ended without an answer gets an err piece.
 */
bool job_serve(struct job *j, answer_sink_fn sink, void *self);

/* A worker that runs beside the commands. */
struct background {
	struct job job;
	const char *state;      /* "none", "running", "ended", "failed", "killed" */
	char result[FRAME_MAX]; /* encoded words: progress, or how it ended */
};

enum reply_state { REPLY_NONE, REPLY_WORKING, REPLY_DONE };

/* The answer to the last command, kept as the frames that it consists of to be sent again. */
struct reply {
	uint32_t seq;
	enum reply_state state;
	char buf[FRAME_REPLY_MAX];
	size_t len, sent;
	unsigned n_lines;
	bool is_cut;
};

#define AGENT_OUT_MAX     ((size_t)4 * FRAME_MAX)
#define AGENT_SESSION_MAX 64
/* lines of a load that are kept; further ones are lost. 512 jobs with a line each fit. */
#define AGENT_LOAD_LINES_MAX ((size_t)64 << 10)

struct agent {
	const char *link_name; /* "stdio", "fd:N" or a path */
	const char *root;
	void (*power)(const char *how); /* "poweroff" or "reboot"; does not return on a target */
	int in_fd, out_fd;              /* -1 = closed */
	int sigchld_fd;
	int64_t eof_since_ns; /* 0 = the link is alive */
	int64_t retry_ns;     /* the link is left alone until then; 0 = it is not */
	bool is_over;         /* the link cannot come back */

	char session[AGENT_SESSION_MAX]; /* "" = none yet */
	uint32_t last_seq;               /* newest command of the session; 0 = none */
	struct frame_reader reader;
	char out[AGENT_OUT_MAX];
	size_t out_len;
	struct reply reply;
	const char *power_how; /* set: act once the answer has left, at the latest at power_ns */
	int64_t power_ns;

	struct job command;
	struct background load;                /* a verb with bg=1 */
	struct background profile;             /* profile with bg=1: the sampler */
	char load_lines[AGENT_LOAD_LINES_MAX]; /* all that it said, a line each; NUL-terminated */
	size_t load_lines_len;
};

/*
 * link_name and root must outlive the agent. Blocks SIGCHLD, ignores SIGPIPE. ERR_USAGE for a link
 * name that makes no sense; a path that cannot be opened yet is tried again and again.
 */
int agent_init(struct agent *ag, const char *link_name, const char *root,
	       void (*power)(const char *how), struct err *e) must_check;
/* Kills what runs, closes what is open except the fds of stdio and fd:N. */
void agent_release(struct agent *ag);
/* One turn: waits at most timeout_ms (-1 = for ever) for something to do. */
int agent_step(struct agent *ag, int timeout_ms, struct err *e) must_check;
/* Serves the link until it is over (stdio, fd:N) or for ever (a path). */
int agent_run(struct agent *ag, struct err *e) must_check;
