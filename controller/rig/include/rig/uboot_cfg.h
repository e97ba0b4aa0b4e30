/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uboot_cfg.h - what stands under `boot.uboot` in rig.yaml; see stallrig-rig(5). */
#pragma once

#include "rig/yaml.h"

#define UBOOT_COMMANDS_MAX 32
#define UBOOT_WORDS_MAX    32

struct uboot_cfg {
	char *firmware;   /* for QEMU, which then is the board: the boot loader's binary; NULL = a
			     board */
	char *prompt;     /* at the start of a line, with its blanks */
	char *autoboot;   /* the text that announces autoboot */
	char *stop_key;   /* what stops it, sent until the prompt shows */
	bool is_mute;     /* key no_echo: what is typed is not echoed and so cannot be checked */
	unsigned catch_s; /* from power-on to the prompt */
	char **commands;  /* before the files are fetched */
	unsigned commands_count;
	char **reset; /* a command of this machine that resets the board; NULL = it does so itself
		       */
	unsigned reset_count;
	char *fetch;  /* "tftpboot" or "wget": the command that fetches a file over the network */
	char *folder; /* served by the TFTP or HTTP server; NULL = the rig's own (QEMU only) */
	char *prefix; /* in front of the file names, as the server knows the folder; NULL = none */
	char *image;  /* "booti", "bootz", "fit" */
	char *kernel_addr, *initrd_addr; /* numbers or variables like ${kernel_addr_r} */
	char *dtb_addr;                  /* where the device tree is, or is fetched to */
	char *dtb; /* a file, or its name in the kernel build's dtbs/; NULL = the loader's own */
};

/* For a CYAML_FIELD_MAPPING_PTR. */
extern const cyaml_schema_field_t uboot_cfg_fields[];

/* Fills in what is not there and checks the rest; key_path is "boot.uboot". ERR_CONFIG. */
int uboot_cfg_check(struct uboot_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		    struct err *e) must_check;
/* Frees what is in it and itself. Accepts NULL. */
void uboot_cfg_free(struct uboot_cfg *cfg);
