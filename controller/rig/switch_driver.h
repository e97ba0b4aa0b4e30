/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_driver.h - the stand-alone switch drivers. Private to the rig room. */
#pragma once

#include "rig/switch_cfg.h"

/* Opens the hardware without changing anything. cfg must live longer. */
typedef int (*switch_open_fn)(const struct switch_cfg *cfg, struct waiter *w,
			      const struct switch_ops **ret_ops, void **ret_self, struct err *e);

int switch_gpio_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e) must_check;
int switch_exec_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e) must_check;
int switch_http_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e) must_check;
int switch_usb_hub_open(const struct switch_cfg *cfg, struct waiter *w,
			const struct switch_ops **ret_ops, void **ret_self,
			struct err *e) must_check;
int switch_hid_relay_open(const struct switch_cfg *cfg, struct waiter *w,
			  const struct switch_ops **ret_ops, void **ret_self,
			  struct err *e) must_check;
