/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels.h - the kernel store: kernel builds with their identity, fetched, added or built; the
 * probe modules for each; and the initramfs that boots them on a virtual rig.
 *
 * A build is a folder <store>/<name>/ that appears complete (rename) or not at all:
 *   kernel.json   identity, see struct kernel_build
 *   image         bzImage (x86_64) or Image (arm64, uncompressed)
 *   config        the kernel's .config
 *   System.map    optional
 *   modules/      what lies in lib/modules/<release>/, with its depmod indexes; .ko files as they
 *                 came (.ko, .ko.xz, .ko.zst, .ko.gz), unpacked when an initramfs takes them
 *   headers/      what is needed to build modules (optional): a link into devel/, where packages of
 *                 headers were unpacked, or to the build tree of a user's own kernel
 *   probe/        latency-mon.ko, wq-stall.ko, built for it (see kernel_probe_ensure)
 */
#pragma once

#include "base/fdio.h"
#include "base/waiter.h"

#include <stdbool.h>

struct kernel_build {
	char *name;            /* folder name in the store, e.g. "debian-6.1.0-57-amd64" */
	char *dir;             /* absolute path of the folder */
	char *arch;            /* "x86_64" or "arm64" */
	char *release;         /* uname -r */
	char *version;         /* uname -v, e.g. "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (…)" */
	char *origin;          /* "debian:6.1", "add", "build" */
	char *package_version; /* "6.1.192-3", "" if not from a package */
	char *commit;          /* "" unknown */
	char *source;          /* "linux-source-6.1_6.1.192-3" or a folder; "" if not built here */
	char *mutations;       /* names of the source edits it has, "a b"; "" none */
	char config_sha256[65];
	char image_sha256[65];
	int hz;        /* CONFIG_HZ */
	char *preempt; /* "none", "voluntary", "lazy", "full", "rt": what it boots with by default
			*/
	/*
	 * Built-in start value of workqueue.cpu_intensive_thresh_us, µs: -1 = the kernel has no
	 * such parameter. At boot the kernel raises it on machines with a slow delay loop (arm64),
	 * so the value in force has to be read on the target.
	 */
	int64_t cpu_intensive_thresh_us;
	int64_t added_wall_ns;
	/*
	 * Why there is nothing but this description: the source does not build. Running it is an
	 * UNTESTABLE run. "" = it was built; then the folder is complete.
	 */
	char *no_build;
};

struct kernel_list {
	struct kernel_build **builds; /* owned, newest release first */
	size_t n;
};

void kernel_build_free(struct kernel_build *k);
DEFINE_AUTO(kernel_build, struct kernel_build *, kernel_build_free)
#define auto_kernel_build AUTO(kernel_build)
void kernel_list_release(struct kernel_list *l);

/* Progress for a person: one short line, without line end. */
typedef void (*kernels_progress_fn)(void *self, const char *text);

struct kernels_ctx {
	const char *store; /* folder; NULL = path_cache("kernels") */
	struct waiter *w;
	kernels_progress_fn progress; /* may be NULL */
	void *self;
};

/* "x86_64" or "arm64" for the machine this runs on (x86_64 for any other). */
const char *kernels_host_arch(void);

/*
 * Newest Debian kernel of a series, e.g. spec "debian:6.1", "debian:6.12" or an exact release
 * "debian:6.1.0-57-amd64"; arch NULL = the host's. Uses apt-get with private state, so that a
 * foreign arch works and the machine's own apt is not touched. An existing complete build of the
 * same package version is returned at once. Blocks for minutes; safe to run twice at once.
 */
int kernel_fetch(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		 struct kernel_build **ret, struct err *e) must_check;

struct kernel_add_cfg {
	const char *name;         /* NULL = from the release */
	const char *const *paths; /* .deb files; or one folder or an image (+ modules folder) */
	size_t n_paths;
	const char *modules_dir; /* NULL = looked for */
	const char *headers_dir; /* NULL = looked for (modules/build) */
	const char *config;      /* NULL = looked for beside the image, or IKCONFIG */
};
/*
 * Copies a user's own kernel into the store; the headers stay where they are and are linked to.
 * ERR_USAGE names what is missing, ambiguous or taken, ERR_CONFIG a broken .deb. A kernel that
 * lacks what a rig needs is accepted here and refused by target_image_ensure().
 */
int kernel_add(const struct kernels_ctx *ctx, const struct kernel_add_cfg *cfg,
	       struct kernel_build **ret, struct err *e) must_check;

/*
 * What kernel_compile() builds. All strings are borrowed.
 */
struct kernel_compile_cfg {
	/*
	 * "debian:PACKAGE" (e.g. debian:linux-source-6.1) or a folder. Both are built in a copy of
	 * their own in path_cache("sources"), one for each source, which stays for the next build.
	 */
	const char *source;
	bool is_in_place; /* source is a folder that belongs to the caller: build in it, no copy */
	/*
	 * Paths, or names of fixtures/kernels/NAME.config, to which NAME-ARCH.config adds itself.
	 * If the first is a complete .config ("Automatically generated file") the rest goes on top
	 * of it, else all go on top of allnoconfig.
	 */
	const char *const *configs;
	size_t n_configs;
	/* Without this an option of a fragment that the kernel does not take is an error. */
	bool may_drop_options;
	const char *const *mutations; /* see kernel_mutations() */
	size_t n_mutations;
	const char *name;    /* in the store; at most KERNEL_COMPILE_NAME_MAX bytes */
	const char *arch;    /* NULL = the host's */
	const char *commit;  /* NULL = asked of git if the source is a repository */
	unsigned jobs;       /* 0 = one a CPU */
	const char *log;     /* the compiler's output goes there; NULL = build.log of the build */
	bool has_no_headers; /* keep no copy: the probe is built now and never again */
};

#define KERNEL_COMPILE_NAME_MAX 40 /* the release that ends with it has 64 bytes in all */

/*
 * Builds a kernel from source and puts it into the store: image, modules, headers, probe modules.
 * The release ends with "-NAME" and the stamps of time, user and host are fixed, so equal sources
 * give equal images. ccache is used if it is installed. Blocks for minutes.
 *
 * ERR_KERNEL: it does not build; the text holds the compiler's first errors and where the log is.
 * ERR_USAGE: a name, fragment or mutation is wrong. -ENOSPC: the disk is full.
 */
int kernel_compile(const struct kernels_ctx *ctx, const struct kernel_compile_cfg *cfg,
		   struct kernel_build **ret, struct err *e) must_check;

/* A build by a command of the user's own. All strings are borrowed. */
struct kernel_command_cfg {
	const char *command; /* for `sh -c` in the tree; see stallrig-plan(5), docs/bisect.md */
	const char *tree;
	const char *name; /* in the store */
	const char *commit;
	const char *config; /* for the command; NULL = "" */
	const char *out;    /* folder that is emptied for what it makes */
	const char *log;    /* what it writes goes there */
};

/*
 * Runs the command with STALLRIG_COMMIT, STALLRIG_NAME, STALLRIG_CONFIG and STALLRIG_OUT, adds what
 * it left in STALLRIG_OUT (or, if that is empty, in the tree) to the store and builds its probe.
 * Blocks for minutes. ERR_KERNEL: it does not build (the status is above 0; 125: to be skipped), or
 * no probe can be built for it. ERR_USAGE: no kernel is left, or the command wants all to stop
 * (-ECANCELED, a status of 128 or more).
 */
int kernel_build_by_command(const struct kernels_ctx *ctx, const struct kernel_command_cfg *cfg,
			    struct kernel_build **ret, struct err *e) must_check;

/* A branch whose newest commit is built. All strings are borrowed. */
struct kernel_tip_cfg {
	const char *repo;   /* path or URL that git can fetch from; it is never written to */
	const char *branch; /* "master", or a full name as in "refs/tags/v6.6" */
	const char *const *configs; /* as in struct kernel_compile_cfg */
	size_t n_configs;
	const char *command; /* builds it in place of make, with configs[0]; NULL = make */
	const char *arch;    /* NULL = the host's */
	unsigned jobs;
};

/*
 * Name that the build of the branch's tip has or would have in the store; it follows from the
 * commit, the configs, the command and the arch. Asks the repository and changes nothing.
 * ERR_CONFIG: there is no such repository or branch. Caller frees.
 */
int kernel_tip_name(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg, char **ret,
		    struct err *e) must_check;
/*
 * The build of the branch's tip: out of the store if that tip was built before, else fetched
 * (shallow, into path_cache("sources"), a tree for each branch) and built. A tip that does not
 * build is a build with ->no_build, and is not tried again until it is removed from the store.
 */
int kernel_tip_ensure(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg,
		      struct kernel_build **ret, struct err *e) must_check;

/*
 * A mutation: a small source edit that re-creates a failure mechanism, or removes one.
 * fixtures/kernels/mutations/NAME.patch; "Key: text" lines stand before the patch. Title and
 * Stands-for must be there.
 */
struct kernel_mutation {
	char *name;
	char *path;
	char *title;      /* what it changes */
	char *scenario;   /* that must tell it apart; "" none */
	char *expected;   /* that scenario's verdict and reason: "FAIL over-limit"; "" none */
	char *unmutated;  /* the same of the kernel without it; "PASS none-over" unless said */
	char *stands_for; /* the history that it re-creates */
	char *source;     /* that it is made for; "debian:linux-source-6.1" unless said */
	char *configs;    /* fragments on top of virtual, "nvme bfq"; "" none */
	char *base;       /* mutations that the kernel without it has as well, "a b"; "" none */
	char *append;     /* on the command line of both kernels; "" nothing */
};

struct kernel_mutation_list {
	struct kernel_mutation *v; /* owned, by name */
	size_t n;
};
void kernel_mutation_list_release(struct kernel_mutation_list *l);

/* ERR_CONFIG names a file whose head is not complete. */
int kernel_mutations(struct kernel_mutation_list *ret, struct err *e) must_check;

#define KERNEL_WORDS_MAX 16 /* names in configs or base of a mutation */

/* Which of the two kernels that a mutation is about. Strings are borrowed. */
struct kernel_mutant_cfg {
	const struct kernel_mutation *mutation;
	bool is_mutated;    /* else the kernel that it is held against */
	const char *source; /* "debian:PACKAGE"; NULL = the mutation's */
	const char *arch;   /* NULL = the host's */
	unsigned jobs;      /* 0 = one a CPU */
};
/*
 * The build of these words, out of the store if it was made before, else as kernel_compile(). It is
 * known by what goes into it: the version of the source, the options, the edits and the arch; its
 * name is "selftest-…". Two mutations that are held against equal kernels share one.
 */
int kernel_mutant_ensure(const struct kernels_ctx *ctx, const struct kernel_mutant_cfg *cfg,
			 struct kernel_build **ret, struct err *e) must_check;
/*
 * The same name without making anything, so that equal kernels can be told. Asks the registry for
 * the version of the source. Caller frees.
 */
int kernel_mutant_name(const struct kernels_ctx *ctx, const struct kernel_mutant_cfg *cfg,
		       char **ret, struct err *e) must_check;

/*
 * Finds a build: its name, "debian:6.1" (newest of that series in the store), or a path to a build
 * folder. arch NULL = any for names, the host's for a series. ERR_USAGE/-ENOENT names what there
 * is.
 */
int kernel_find(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		struct kernel_build **ret, struct err *e) must_check;
int kernel_list(const struct kernels_ctx *ctx, struct kernel_list *ret, struct err *e) must_check;
int kernel_remove(const struct kernels_ctx *ctx, const char *name, struct err *e) must_check;

/*
 * Builds latency-mon.ko and wq-stall.ko for this build from path_data("module") unless the ones
 * there were built from the same sources. ERR_KERNEL if they do not build (with the compiler's
 * first error), ERR_RIG if a tool is missing (it is named).
 */
int kernel_probe_ensure(const struct kernels_ctx *ctx, const struct kernel_build *k,
			struct err *e) must_check;

/*
 * The initramfs for the virtual rig: busybox-static, the agent of the build's arch, the modules
 * named (and what they depend on), the probe modules under /probe if they were built. A module may
 * be followed by parameters: "usb-storage delay_use=0". Cached by content in path_cache("images"),
 * which keeps the 20 used last. *ret_path: caller frees. ERR_KERNEL names a module that the kernel
 * does not have (neither as file nor built in); ERR_RIG a tool that is missing, or an agent or
 * busybox that is not a static program for the arch. busybox of a foreign arch is fetched once.
 */
struct target_image_cfg {
	const struct kernel_build *kernel;
	const char *const *modules; /* in load order, e.g. "xhci-pci"; NULL-terminated */
	/*
	 * Programs of this machine that go along, with the libraries that they need: "mkfs.ext4".
	 * For another arch they come out of the same packages of the registry, fetched once. NULL =
	 * none; else NULL-terminated.
	 */
	const char *const *programs;
	const char *agent; /* static binary; NULL = the one built beside this program */
	/* what the agent talks over: "virtio:NAME" for the port of that name, else its -l argument
	 */
	const char *link;
};
int target_image_ensure(const struct kernels_ctx *ctx, const struct target_image_cfg *cfg,
			char **ret_path, struct err *e) must_check;

/* A file for a target that has a user space of its own, which gets no initramfs from here. */
struct target_file {
	char *name;                   /* "agent", "ext4.ko", "latency-mon.ko" */
	char *module;                 /* to be loaded, as the kernel names it; NULL = not at boot */
	char *params;                 /* of the module */
	char sha256[SHA256_HEX_SIZE]; /* of the file */
	struct strbuf packed;         /* gzip; empty = the module is built in and has parameters */
};

struct target_files {
	struct target_file *v; /* owned */
	size_t n;
};
void target_files_release(struct target_files *l);

/*
 * What such a target needs of this machine: first the agent, then cfg's modules in load order, then
 * the probe modules if they were built; programs do not go along. Errors as target_image_ensure().
 */
int target_files_collect(const struct kernels_ctx *ctx, const struct target_image_cfg *cfg,
			 struct target_files *ret, struct err *e) must_check;
