/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages get beyond their HTML: the console at its moment, charts, the live view. */
"use strict";

(() => {
	const $ = (selector, root = document) => root.querySelector(selector);
	const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
	const root = document.documentElement.dataset.root;
	const isStatic = "static" in document.documentElement.dataset;
	const page = (path) => root + path + (isStatic ? ".html" : "");
	const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const ms = (v) => v === undefined || v === null ? "–"
		: v >= 10000 ? (v / 1000).toFixed(1) + " s"
		: v < 9.95 ? v.toFixed(1) + " ms" : v.toFixed(0) + " ms";

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

	/* ---- tables on a narrow screen: each row a block, each value behind the name of its column ---- */

	const stack = () => {
		for (const table of $$("table.rows:not(.trials, .evidence)")) {
			const names = [...$$("thead th, thead td", table)].map((th) => th.textContent);

			if (!table.tBodies[0]?.rows.length)
				continue;
			table.classList.add("stacked");
			for (const row of table.tBodies[0].rows)
				[...row.cells].forEach((cell, i) => {
					if (names[i] && (cell.tagName === "TD" || /^\d+$/.test(cell.textContent)))
						cell.dataset.k = names[i];
				});
		}
	};

	/* ---- charts ---- */

	/* a page that is a file has its data in it */
	const fetchJson = async (url) => {
		const own = $("script.data");

		if (own)
			return JSON.parse(own.textContent);
		const reply = await fetch(url);

		if (!reply.ok)
			throw new Error(url + ": " + reply.status);
		return reply.json();
	};

	/* 24 hours and UTC, as everywhere on the pages */
	const timeValues = (u, splits, axis, space, step) => splits.map((s) => {
		const t = new Date(s * 1000).toISOString();

		return step >= 28 * 86400 ? t.slice(0, 7)
			: step >= 86400 || t.slice(11, 16) === "00:00" ? t.slice(5, 10) : t.slice(11, 16);
	});
	const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC");

	/* a wall screen is read from afar: charts grow with the page's type */
	const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
	const axes = (x, y) => {
		const grid = {stroke: colour("--line"), width: 1};
		const both = {stroke: colour("--dim"), grid, ticks: grid, font: `${rem() * .78}px system-ui, "Noto Sans", "DejaVu Sans", sans-serif`};

		return [{...both, size: rem() * 3, ...x}, {...both, size: rem() * 4.4, ...y}];
	};

	const size = (box) => ({width: Math.max(200, box.clientWidth), height: Math.max(280, Math.min(560, innerHeight * .5))});

	const keepSize = (chart, box) => addEventListener("resize", () => chart.setSize(size(box)));

	const verdictColours = () => ({PASS: colour("--pass"), FAIL: colour("--fail"),
		INCONCLUSIVE: colour("--unsure"), UNTESTABLE: colour("--untestable"), "RIG-FAULT": colour("--rigfault")});

	/* Shapes as well as colours tell verdicts apart. */
	const drawPoint = (ctx, verdict, x, y, r) => {
		ctx.beginPath();
		if (verdict === "FAIL") {
			ctx.moveTo(x, y - r * 1.3); ctx.lineTo(x + r * 1.3, y); ctx.lineTo(x, y + r * 1.3);
			ctx.lineTo(x - r * 1.3, y); ctx.closePath(); ctx.fill();
		} else if (verdict === "PASS") {
			ctx.arc(x, y, r, 0, 2 * Math.PI); ctx.fill();
		} else {
			ctx.arc(x, y, r, 0, 2 * Math.PI); ctx.stroke();
		}
	};

	const trend = async (box) => {
		const all = (await fetchJson(box.dataset.trend)).points;
		const filter = $("#trend-filter");
		let chart, points;

		/* of the table the same kernels */
		const list = () => {
			for (const row of $$("table.rows tbody tr"))
				row.hidden = !$("th", row).textContent.includes(filter.value.trim());
		};
		const draw = () => {
			const words = filter.value.trim();

			points = all.filter((p) => p.worst_ms !== undefined && (!words || p.kernel_name.includes(words)));
			if (chart)
				chart.destroy();
			const colours = verdictColours();
			const limit = colour("--limit"), dim = colour("--dim"), link = colour("--link");
			/* from the median to the worst, with a tick at the median and at p99 */
			const spread = (u, ctx, p, x) => {
				const tick = 3 * devicePixelRatio;

				if (p.p50_ms === undefined)
					return;
				ctx.globalAlpha = points.length > 1000 ? .06 : points.length > 300 ? .25 : .5;
				ctx.beginPath();
				ctx.moveTo(x, u.valToPos(p.p50_ms, "y", true));
				ctx.lineTo(x, u.valToPos(p.worst_ms, "y", true));
				for (const v of [p.p50_ms, p.p99_ms ?? p.p50_ms]) {
					const y = u.valToPos(v, "y", true);

					ctx.moveTo(x - tick, y);
					ctx.lineTo(x + tick, y);
				}
				ctx.stroke();
				ctx.globalAlpha = 1;
			};
			const marks = (u) => {
				const ctx = u.ctx;

				ctx.save();
				ctx.setLineDash([]); /* the limit's is still set */
				ctx.lineWidth = 2 * devicePixelRatio;
				/* where there are many, none must hide the others */
				const isDense = points.length > 1000;
				const faint = points.filter((p) => p.is_change).length > 20 ? .3 : 1;

				points.forEach((p, i) => {
					const x = u.valToPos(u.data[0][i], "x", true);

					if (p.is_change) {
						ctx.strokeStyle = link;
						ctx.globalAlpha = faint;
						ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
						ctx.beginPath();
						ctx.moveTo(x, u.bbox.top); ctx.lineTo(x, u.bbox.top + u.bbox.height);
						ctx.stroke();
						ctx.setLineDash([]);
						ctx.globalAlpha = 1;
					}
					ctx.fillStyle = ctx.strokeStyle = colours[p.verdict] || dim;
					spread(u, ctx, p, x);
					drawPoint(ctx, p.verdict, x, u.valToPos(p.worst_ms, "y", true), (isDense ? .125 : .25) * rem() * devicePixelRatio);
				});
				ctx.restore();
			};

			chart = new uPlot({
				...size(box),
				tzDate: utc,
				/* room for the marks at both ends */
				scales: {x: {time: true, range: (u, from, to) => [from - (to - from || 7200) * .02, to + (to - from || 7200) * .02]}, y: {distr: 3}},
				axes: axes({values: timeValues, space: rem() * 5}, {values: logAxis}),
				series: [
					{value: (u, v) => v === null ? "" : new Date(v * 1000).toISOString().slice(0, 16).replace("T", " ")},
					{label: "worst", stroke: dim, width: 0, points: {show: false}, paths: () => null, value: (u, v) => ms(v)},
					{label: "p99", stroke: dim, width: 1, points: {show: false}, value: (u, v) => ms(v), paths: () => null},
					{label: "p50", stroke: dim, width: 1, points: {show: false}, value: (u, v) => ms(v), paths: () => null},
					{label: "limit", stroke: limit, width: 2, dash: [8, 5], points: {show: false}, value: (u, v) => ms(v)},
				],
				hooks: {draw: [marks]},
			}, [points.map((p) => p.started_s), points.map((p) => p.worst_ms),
				points.map((p) => p.p99_ms ?? null), points.map((p) => p.p50_ms ?? null), points.map((p) => p.limit_ms)], box);
			chart.over.addEventListener("click", () => {
				const p = points[chart.cursor.idx];

				if (p)
					location.href = page("runs/" + p.run);
			});
			const tip = document.createElement("div");

			tip.className = "tip";
			tip.hidden = true;
			chart.over.append(tip);
			chart.over.addEventListener("mousemove", () => {
				const p = points[chart.cursor.idx];

				tip.hidden = !p;
				if (!p)
					return;
				tip.textContent = `${p.verdict} ${ms(p.worst_ms)}, ${p.kernel_name}`;
				const left = chart.cursor.left > chart.over.clientWidth / 2;

				tip.className = "tip " + (left ? "leftwards" : "");
				tip.style.left = left ? "" : chart.cursor.left + 12 + "px";
				tip.style.right = left ? chart.over.clientWidth - chart.cursor.left + 12 + "px" : "";
				tip.style.top = Math.max(0, chart.cursor.top - 10) + "px";
			});
			chart.over.addEventListener("mouseleave", () => { tip.hidden = true; });
		};

		filter.value = new URLSearchParams(location.search).get("kernel") || "";
		filter.addEventListener("input", () => {
			const url = new URL(location);

			filter.value ? url.searchParams.set("kernel", filter.value) : url.searchParams.delete("kernel");
			history.replaceState(null, "", url);
			draw();
			list();
		});
		draw();
		list();
		addEventListener("resize", () => chart.setSize(size(box)));
		return () => chart;
	};

	const palette = () => [colour("--link"), colour("--fail"), colour("--pass"), colour("--rigfault"), colour("--unsure"), colour("--dim")];
	const logAxis = (u, values) => values.map((v) => v === null || !/^[125]/.test(String(v).replace(/^0\.0*/, "")) ? "" : ms(v));

	const distribution = async (box, url, make) => {
		const runs = (await fetchJson(url)).runs;
		const {x, rows, extra, y = {range: (u, min, max) => [0, max * 1.05]}, yValues, incrs} = make(runs);
		const chart = new uPlot({
			...size(box),
			scales: {x: {time: false, distr: 3}, y},
			axes: axes({values: logAxis}, {...(yValues ? {values: yValues} : {}), ...(incrs ? {incrs} : {})}),
			series: [{label: "delay", value: (u, v) => ms(v)}, ...runs.map((r, i) => ({
				label: `${r.kernel_name} on ${r.run.rig}, ${r.run.started.slice(5, 16).replace("T", " ")}`, stroke: palette()[i], width: 2,
				dash: [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 2]][i],
				paths: uPlot.paths.stepped({align: extra}), points: {show: false},
			}))],
		}, [x, ...rows], box);

		keepSize(chart, box);
		return () => chart;
	};

	const worsts = (runs) => runs.map((r) => r.worst_ms.slice().sort((a, b) => a - b));

	const ecdf = (runs) => {
		const values = worsts(runs);
		const x = [...new Set(values.flat())].sort((a, b) => a - b);

		return {x, rows: values.map((v) => x.map((at) => v.length ? v.filter((w) => w <= at).length / v.length : null)), extra: 1};
	};

	const histogram = (runs) => {
		const values = worsts(runs);
		const perDecade = 8;
		const at = (v) => Math.floor(Math.log10(Math.max(v, .1)) * perDecade);
		const all = values.flat().map(at);
		const from = Math.min(...all), to = Math.max(...all) + 1;
		const x = [];

		for (let i = from; i <= to; i++)
			x.push(10 ** (i / perDecade));
		return {x, rows: values.map((v) => x.map((_, i) => v.filter((w) => at(w) === from + i).length)), extra: 1,
			incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]}; /* trials are whole */
	};

	/* of all samples: how many are at least so long; both axes logarithmic, so that the tail is seen */
	const tail = (runs) => {
		const x = [...new Set(runs.flatMap((r) => r.samples ? [...r.samples.low_ms, r.samples.end_ms.at(-1)] : []))]
			.filter((v) => v > 0).sort((a, b) => a - b);
		const rows = runs.map(({samples}) => {
			if (!samples)
				return x.map(() => null);
			let i = samples.counts.length, longer = 0;
			const shares = x.slice().reverse().map((at) => {
				while (i > 0 && samples.low_ms[i - 1] >= at)
					longer += samples.counts[--i];
				return longer ? longer / samples.count : null;
			});

			return shares.reverse();
		});
		const percent = (v) => v === null || !/^[1]0*$/.test(String(v).replace(/^0\.0*/, "")) ? "" : +(v * 100).toPrecision(2) + " %";

		return {x, rows, extra: 1, y: {distr: 3}, yValues: (u, values) => values.map(percent)};
	};

	const savePng = (getChart, button) => {
		button.hidden = false;
		button.addEventListener("click", () => {
			const source = getChart().ctx.canvas;
			const copy = document.createElement("canvas");
			const ctx = copy.getContext("2d");

			copy.width = source.width;
			copy.height = source.height;
			ctx.fillStyle = colour("--card");
			ctx.fillRect(0, 0, copy.width, copy.height);
			ctx.drawImage(source, 0, 0);
			copy.toBlob((blob) => {
				const a = document.createElement("a");

				a.href = URL.createObjectURL(blob);
				a.download = document.title.replace(/ · .*/, "").replace(/\W+/g, "-") + ".png";
				a.click();
				URL.revokeObjectURL(a.href);
			});
		});
	};

	const charts = () => {
		for (const box of $$(".chart")) {
			const made = box.dataset.trend ? trend(box)
				: box.dataset.ecdf ? distribution(box, box.dataset.ecdf, ecdf)
				: box.dataset.samples ? distribution(box, box.dataset.samples, tail)
				: distribution(box, box.dataset.histogram, histogram);

			made.then((getChart) => {
				const button = $("[data-png]", box.parentElement);

				if (button)
					savePng(getChart, button);
			}, (error) => { box.textContent = "No chart: " + error.message; });
		}
	};

	/* ---- the live view ---- */

	const live = () => {
		const box = $("ol.console.live");

		if (!box || !box.dataset.events)
			return;
		const source = new EventSource(box.dataset.events);
		const linesMax = 2000;
		let boot = 0;
		const set = (id, text) => { $(id).textContent = text; };
		const on = (name, fn) => source.addEventListener(name, (ev) => {
			let data;

			try {
				data = JSON.parse(ev.data);
			} catch {
				return; /* half an event before a gap */
			}
			fn(data);
		});
		const addLine = (text, css) => {
			const li = document.createElement("li");
			const code = document.createElement("code");

			li.className = css;
			code.textContent = text;
			li.append(code);
			box.append(li);
		};

		source.addEventListener("open", () => {
			box.replaceChildren();
			$("#live-trials").replaceChildren();
			boot = 0;
		});
		on("console", (data) => {
			const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;

			if (data.boot !== boot) {
				boot = data.boot;
				addLine("boot " + boot, "dim");
			}
			for (const line of data.lines) {
				if (line.continues && box.lastElementChild)
					$("code", box.lastElementChild).textContent += line.text;
				else
					addLine(line.text, /DELAY:/.test(line.text) ? "over" : /USB disconnect/.test(line.text) ? "anchor" : "");
			}
			while (box.childElementCount > linesMax)
				box.firstElementChild.remove();
			if (atEnd)
				box.scrollTop = box.scrollHeight;
		});
		on("delay", (d) => {
			set("#live-delay", ms(d.ms) + (d.cpu === undefined ? "" : " CPU" + d.cpu));
		});
		on("run", (run) => {
			set("#live-valid", `${run.valid}/${run.planned_valid}`);
			set("#live-over", String(run.over));
			set("#live-worst", ms(run.worst_ms));
		});
		on("trial", (t) => {
			const tr = document.createElement("tr");
			const th = document.createElement("th");
			const a = document.createElement("a");
			const worstCell = document.createElement("td");
			const outcome = document.createElement("td");

			th.scope = "row";
			a.href = page("trials/" + t.id);
			a.textContent = "trial " + t.id.split(".").pop();
			th.append(a);
			worstCell.className = "num";
			worstCell.textContent = ms(t.worst_ms);
			outcome.textContent = t.crash ? "crash: " + t.crash : t.valid ? "valid" : "invalid: " + t.missing_evidence;
			tr.append(th, worstCell, outcome);
			$("#live-trials").append(tr);
		});
		on("gap", () => addLine("… lines are left out here", "dim"));
		on("end", () => {
			source.close();
			$("#live-state").firstChild.textContent = "This run has ended: ";
		});
	};

	/* ---- what changes while it is looked at ---- */

	/* The page is asked for again, and costs nothing while it is the same (ETag). Not under the hands of
	   whoever types or reads on a list that is open. */
	const refresh = () => {
		const seconds = $("[data-refresh]")?.dataset.refresh;

		if (!seconds || isStatic)
			return;
		let known = null;
		/* a screen reader hears when the sentence at the top is another one */
		const news = document.createElement("p");
		const sentence = () => $(".lead")?.textContent ?? $("h1").textContent;

		news.className = "sr";
		news.setAttribute("role", "status");
		document.body.append(news);
		const look = async () => {
			if (document.hidden || $("main").contains(document.activeElement) && document.activeElement !== $("main"))
				return;
			const reply = await fetch(location.href).catch(() => null);
			const etag = reply?.headers.get("ETag");

			if (!reply?.ok || (etag && etag === known))
				return;
			known = etag;
			const fresh = $("main", new DOMParser().parseFromString(await reply.text(), "text/html"));

			if (!fresh)
				return;
			const before = sentence();
			const opened = $$("main details[open] > summary").map((s) => s.textContent);

			$("main").replaceChildren(...fresh.childNodes);
			stack();
			for (const s of $$("main summary"))
				s.parentElement.open ||= opened.includes(s.textContent);
			if (sentence() !== before)
				news.textContent = sentence();
		};

		setInterval(look, seconds * 1000);
	};

	/* ---- compare ---- */

	const compareForm = () => {
		const form = $("[data-compare-form]");

		form?.addEventListener("submit", (ev) => {
			ev.preventDefault();
			location.href = page("compare/" + new FormData(form).get("runs").trim().split(/[\s,]+|\.\.+/).join(".."));
		});
	};

	trial();
	stack();
	charts();
	live();
	refresh();
	compareForm();
})();
