/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages get beyond their HTML: the console at its moment, charts, the live view. */
"use strict";

(() => {
	const $ = (selector, root = document) => root.querySelector(selector);
	const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

	/* ---- a trial: the console is scrolled to the cut, lines and bars light up together ---- */

	const scrollTo = (box, line) => {
		box.scrollTop += line.getBoundingClientRect().top - box.getBoundingClientRect().top -
			box.clientHeight / 4;
	};

	const trial = () => {
		const box = $("ol.console:not(.live)");

		if (!box)
			return;
		const at = location.hash && document.getElementById(location.hash.slice(1));
		const line = at && box.contains(at) ? at : $(".anchor", box);

		if (line)
			scrollTo(box, line);
		const pairs = new Map();

		for (const bar of $$("a.delay"))
			pairs.set(bar, document.getElementById(bar.getAttribute("href").slice(1)));
		const light = (bar, line, on) => {
			bar.classList.toggle("lit", on);
			line.classList.toggle("lit", on);
		};

		for (const [bar, line] of pairs) {
			if (!line)
				continue;
			bar.addEventListener("click", (ev) => {
				ev.preventDefault();
				history.replaceState(null, "", "#" + line.id);
				for (const [b, l] of pairs)
					if (l)
						light(b, l, b === bar);
				scrollTo(box, line);
			});
			for (const el of [bar, line]) {
				el.addEventListener("mouseenter", () => light(bar, line, true));
				el.addEventListener("mouseleave", () => light(bar, line, false));
			}
		}
	};

	trial();
})();
