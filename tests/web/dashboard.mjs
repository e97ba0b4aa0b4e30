/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dashboard.mjs - see dashboard.sh. */
import {spawn, spawnSync} from "node:child_process";
import {readFileSync} from "node:fs";
import {createServer} from "node:http";
import {appendFile, mkdir, readFile, readdir, stat} from "node:fs/promises";
import {join, normalize} from "node:path";

import {OUT, STALLRIG, WORK, accessible, check, children, main, open, serve, shoot, sleep, visit} from "./browser.mjs";

const {LIVE} = process.env;

const labPages = async () => {
	const base = await serve(join(WORK, "lab.db"));
	const page = await open();

	await visit(page, base, /2 kernels got worse/);
	check("a regression is told in words", /: worst .*, was .*, since the night of \d\d-\d\d/.test(await page.textContent(".change.worse")));
	check("nothing runs", (await page.textContent("#nothing-runs")).includes("Nothing is running"));
	await accessible(page);
	await shoot(page, "front");

	/* from the matrix to a trial by clicks */
	await page.click(".cell.new a");
	await page.waitForURL(/\/runs\//);
	check("the run fails", (await page.textContent(".lead")).includes("FAIL"));
	await accessible(page);
	await shoot(page, "run");
	await page.click("table.trials tbody th a");
	await page.waitForURL(/\/trials\//);
	check("the trial has a timeline", await page.locator(".tl svg").count() > 3);
	check("what dd read is a curve", await page.locator(".lane.curve circle").count() === 15);
	await accessible(page);

	for (const [path, heading] of [["trends", /Trends/], ["compare", /Compare/], ["rigs", /Rigs/],
		["rigs/rcar-m3-1", /rcar-m3-1/], ["kernels", /Kernels/], ["incidents", /Incidents/],
		["incidents?q=2", /Incidents/], ["bisects", /Bisects/]]) {
		await visit(page, base + path, heading);
		await accessible(page);
	}

	await visit(page, base + "trends/board/unplug-read/rcar-m3-1", /unplug-read on rcar-m3-1/);
	await page.waitForSelector(".chart canvas");
	await page.waitForSelector("[data-png]:not([hidden])");
	await page.fill("#trend-filter", "6.12");
	await page.waitForURL(/\?kernel=6\.12$/, {timeout: 10000})
		.catch(() => check("the filter is in the address", false, page.url()));
	const kernels = await page.locator("table.rows tbody tr:visible th").allTextContents();

	check("the filter holds for the table, too", kernels.length && kernels.every((k) => k.includes("6.12")), kernels.join());
	await accessible(page);
	await shoot(page, "trend");

	await page.goto(base);
	await page.click(".change.worse >> text=compare");
	await page.waitForSelector(".chart canvas");
	check("the comparison is in words", /regression: p50/.test(await page.textContent("main")));
	await page.waitForSelector("[data-samples] canvas");
	await accessible(page);
	await shoot(page, "compare");

	await page.context().close();

	const dark = await open({colorScheme: "dark"});

	await visit(dark, base, /got worse/);
	await accessible(dark);
	await dark.screenshot({path: join(OUT, "front-dark.png")});
	await dark.context().close();

	const plain = await open({javaScriptEnabled: false});

	await visit(plain, base, /got worse/);
	check("verdicts need no script", await plain.locator(".cell.fail").count() > 0);
	await plain.click(".cell.new a");
	check("trials need no script", await plain.locator("table.trials tbody tr").count() === 4);
	await plain.click("table.trials tbody th a");
	check("evidence needs no script", await plain.locator("table.evidence tbody tr").count() > 10);
	check("the timeline needs no script", await plain.locator(".tl svg").count() > 3);
	for (const path of ["trends", "trends/board/unplug-read/rcar-m3-1", "rigs", "rigs/rcar-m3-1", "kernels", "incidents?q=2"]) {
		await plain.goto(base + path);
		check(`${path} needs no script`, await plain.locator("table tbody tr").count() > 0);
	}
	await plain.context().close();

	const paper = await open();

	await paper.emulateMedia({media: "print"});
	await paper.goto(base);
	const printed = await paper.$$eval("nav, .skip, .links, button, form", (all) => all.filter((el) => el.offsetParent !== null).length);

	check("what can only be clicked is not printed", printed === 0, String(printed));
	await paper.screenshot({path: join(OUT, "front-print.png"), fullPage: true});
	await paper.context().close();
};

/* What is focused after so many Tabs, as text. */
const tab = async (page, times = 1) => {
	for (let i = 0; i < times; i++)
		await page.keyboard.press("Tab");
	return page.evaluate(() => document.activeElement.textContent.trim());
};

/* Without a mouse, and for a screen reader. */
const keyboardPages = async () => {
	const base = await serve(join(WORK, "lab.db"));
	const page = await open();

	await page.goto(base);
	check("the first stop leads past the navigation", await tab(page) === "Skip to the content");
	await page.keyboard.press("Enter");
	const first = await tab(page);

	check("behind it is what got worse", first === await page.textContent(".change.worse a"), first);
	/* from there on in the order of the page, each one visible */
	let before = -1;

	for (let i = 0; i < 40; i++) {
		await page.keyboard.press("Tab");
		const at = await page.evaluate(() => {
			const el = document.activeElement;
			const style = getComputedStyle(el);

			return {place: [...document.querySelectorAll("*")].indexOf(el), name: el.outerHTML.slice(0, 80),
				isSeen: style.outlineStyle !== "none" && el.getBoundingClientRect().width > 0};
		});

		if (at.place < before)
			break; /* round the end */
		check("what has the focus shows it", at.isSeen, at.name);
		before = at.place;
	}
	await page.focus(".cell.new a");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/runs\//);
	await page.focus("table.trials tbody th a");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/trials\//);
	await page.focus("a.delay");
	await page.keyboard.press("Enter");

	/* words are searched for and stay in the address */
	await page.goto(base + "incidents");
	await page.fill("[name=q]", "usb-disconnect");
	await page.keyboard.press("Enter");
	await page.waitForURL(/\/incidents\?q=usb-disconnect$/);
	check("the incidents are found", await page.locator("tbody tr").count() > 10);
	check("the words are still there", await page.inputValue("[name=q]") === "usb-disconnect");
	await page.goto(base + "incidents?q=nosuchword");
	check("nothing found is said", /^0 incidents with .nosuchword./.test((await page.textContent("section .dim")).trim()));
	await page.goto(base + "?rig=rcar-m3-1");
	check("a filter in the address is said", /Only rig rcar-m3-1/.test(await page.textContent(".filter")));
	check("and holds", (await page.locator(".matrix thead th a").allTextContents()).every((t) => t === "rcar-m3-1"));
	await page.context().close();

	/* the overview looks for news by itself, leaves open what is open, and tells a screen reader */
	const store = join(WORK, "wide.db");
	const phone = await open({viewport: {width: 390, height: 844}});

	await phone.clock.install();
	await phone.goto(await serve(store));
	await phone.evaluate(() => {
		window.isSame = true;
		document.querySelector("details").open = true;
	});
	const worse = await phone.textContent("h1");
	const run = (await phone.getAttribute(".change.worse a", "href")).split("/").pop();
	const changed = spawnSync("/usr/bin/python3", ["-c",
		"import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(\"UPDATE runs SET verdict = 'PASS' WHERE id = ?\", (sys.argv[2],)); db.commit()",
		store, run], {encoding: "utf8"});

	check("a verdict changes", changed.status === 0, changed.stderr);
	/* the server may keep an answer for a second: several looks */
	let now = worse;

	for (let looks = 0; now === worse && looks < 30; looks++) {
		await phone.clock.fastForward(11000);
		await new Promise((resolve) => setTimeout(resolve, 500));
		now = await phone.textContent("h1");
	}
	check("the overview learns of it", now !== worse, now);
	check("without another page", await phone.evaluate(() => window.isSame === true));
	check("an open list stays open", await phone.evaluate(() => document.querySelector("details").open));
	check("it is spoken", await phone.textContent("body > [role=status]") === await phone.textContent("h1"));
	await accessible(phone);
	await phone.context().close();
};

/* Every way out of the pages. */
const exports = async () => {
	const base = await serve(join(WORK, "lab.db"));
	const page = await open();
	const save = async (what) => {
		const [file] = await Promise.all([page.waitForEvent("download"), page.click(what)]);

		return readFile(await file.path());
	};
	const lines = (bytes) => bytes.toString().trim().split("\n").length;

	await page.goto(base);
	await page.click(".cell.new a");
	await page.waitForURL(/\/runs\//);
	check("a run as CSV has its trials", lines(await save("text=CSV")) === 1 + 4);
	check("a run as JSON has its trials", JSON.parse(await save("text=JSON")).trials.length === 4);
	await page.click("table.trials tbody th a");
	await page.waitForURL(/\/trials\//);
	check("a trial as JSON has what dd read", JSON.parse(await save("text=JSON")).load.length === 15);
	await page.goto(base + "trends/board/unplug-read/rcar-m3-1");
	await page.waitForSelector("[data-png]:not([hidden])");
	const points = JSON.parse(await save(".toolbar >> text=JSON")).points;
	const csv = (await save(".toolbar >> text=CSV")).toString();

	check("a trend as JSON", points.length === 6 * 5, String(points.length));
	check("a trend as CSV has the same runs", points.every((p) => csv.includes(p.run)));
	for (const [path, n] of [["", 1], [`compare/${points[0].run}..${points.at(-1).run}`, 3]]) {
		if (path)
			await page.goto(base + path);
		const buttons = page.locator("[data-png]:not([hidden])");

		await buttons.nth(n - 1).waitFor();
		for (let i = 0; i < n; i++) {
			const [file] = await Promise.all([page.waitForEvent("download"), buttons.nth(i).click()]);
			const png = await readFile(await file.path());

			check(`${file.suggestedFilename()} is a picture`, png.subarray(1, 4).toString() === "PNG" && png.readUInt32BE(16) > 400, String(png.length));
		}
	}
	check("a comparison as JSON", JSON.parse(await save(".links >> text=JSON")).runs.length === 2);
	await page.context().close();
};

/* A lab with more rigs than columns fit. */
const widePages = async () => {
	const base = await serve(join(WORK, "wide.db"));
	const page = await open();

	await visit(page, base, /./);
	await accessible(page);
	await shoot(page, "wide");
	const more = page.locator("details summary >> text=/^[0-9]+ more$/");

	check("a long list is folded", await more.count() === 1);
	await more.click();
	check("and unfolds", await page.locator("details .change").first().isVisible());
	await page.context().close();
};

/* Locks, switches and cancelled jobs by forms alone; and a page of another origin that tries the same
   with the cookie of the one who is logged in. */
const actionPages = async () => {
	const store = join(WORK, "lab.db");
	const rig = "rigs/rcar-m3-1";
	const base = await serve(store, "--token-file", join(WORK, "token"));
	const page = await open({javaScriptEnabled: false, meant: /status of (401|403|409) /});
	const switched = () => readFileSync(join(WORK, "switched"), "utf8").trim().split("\n").pop();
	const form = (verb) => page.locator(`form[action$="/${verb}"]`);

	const first = await page.context().request.get(base);

	check("nothing is shown before the token", first.status() === 401, String(first.status()));
	await page.goto(base + "login");
	await page.fill("#token", readFileSync(join(WORK, "token"), "utf8").trim());
	await page.click("main button");
	check("the token opens the pages", /got worse/.test(await page.textContent("h1")));

	await page.goto(base + rig);
	await form("lock").locator("[name=as]").fill("ann");
	await form("lock").locator("[name=why]").fill("a new <stick>");
	await form("lock").locator("button").click();
	check("a lock shows who holds the rig", /held by ann \(a new <stick>\)/.test((await page.textContent("main")).replace(/\s+/g, " ")), await page.textContent("main"));
	await form("switch").locator("[name=as]").fill("bob");
	await form("switch").locator("[value=off]").click();
	check("who does not hold it moves nothing", /is held by ann/.test(await page.textContent("main")) && switched() === "on");
	await page.goto(base + rig);
	await form("switch").locator("[name=as]").fill("ann");
	await form("switch").locator("[value=off]").click();
	check("the stick is cut", switched() === "off", switched());
	check("what was done is told", /switch off rig rcar-m3-1/.test(await page.textContent("main")));
	await page.screenshot({path: join(OUT, "rig-1280.png"), fullPage: true});
	await form("unlock").locator("[name=as]").fill("ann");
	await form("unlock").locator("button").click();
	check("the rig is free again", !/held by/.test(await page.textContent("main table")));

	const queued = spawnSync(STALLRIG, ["submit", "-s", "unplug-read", "-k", "debian:6.12", "--store", store], {encoding: "utf8"});

	check("a job is queued", queued.status === 0, queued.stderr);
	await page.goto(base + "jobs");
	await page.click("text=Cancel");
	check("the job is cancelled", /cancelled/.test(await page.textContent("tbody")));

	/* the same host with another port gets the cookie: SameSite looks at the site, not at the port */
	const evil = createServer((rq, rp) => {
		rp.setHeader("Content-Type", "text/html");
		rp.end(`<form method=post action="${base}${rig}/switch"><input name=as value=ann><button name=state value=on>Win</button></form>`);
	});

	await new Promise((done) => evil.listen(0, "127.0.0.1", done));
	await page.goto(`http://127.0.0.1:${evil.address().port}/`);
	const [reply] = await Promise.all([page.waitForResponse((r) => r.url().endsWith("/switch")), page.click("button")]);

	check("the browser sent the cookie", /stallrig_session=/.test((await reply.request().allHeaders()).cookie ?? ""));
	check("another origin is refused", reply.status() === 403, String(reply.status()));
	check("another origin moved nothing", switched() === "off");
	evil.close();
	const log = readFileSync(join(WORK, "log"), "utf8");

	check("the log names who did what", /lock rig rcar-m3-1 by ann from 127\.0\.0\.1/.test(log), log);
	check("the log has what was refused", /switch by nobody from 127\.0\.0\.1: .*Origin/.test(log), log);
	await page.context().close();

	const seen = await open({meant: /status of 401 /});

	await seen.goto(base + "login");
	await seen.fill("#token", readFileSync(join(WORK, "token"), "utf8").trim());
	await seen.click("main button");
	for (const [path, name] of [[rig, "rig"], ["jobs", "jobs"]]) {
		await seen.goto(base + path);
		await accessible(seen);
		await shoot(seen, name);
	}
	await seen.context().close();
};

/* A bisect of a repository, answered by hand while its page is open. The bench of this one builds
   nothing; with trials of a bench that does: tests/system/bisect.sh. */
const bisectPages = async () => {
	const repo = join(WORK, "repo");
	const store = join(WORK, "bisect.db");
	const command = (name, args, status = 0) => {
		const done = spawnSync(name, args, {encoding: "utf8", env: {...process.env, STALLRIG_CACHE: join(WORK, "cache"),
			GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null"}});

		check(`${name} ${args.slice(0, 4).join(" ")} ends with ${status}`, done.status === status, done.stdout + done.stderr);
		return done.stdout.trim();
	};
	const git = (...args) => command("git", ["-C", repo, "-c", "user.name=test", "-c", "user.email=test@example.org", ...args]);
	const tell = (rev, word) => command(STALLRIG, ["bisect", "tell", rev, word, "--store", store]);

	await mkdir(repo);
	git("init", "-q", "-b", "main");
	for (let i = 0; i <= 12; i++) {
		git("commit", "-q", "--allow-empty", "-m", `change <${i}>`);
		git("tag", `c${i}`);
	}
	command(STALLRIG, ["bisect", "start", "--repo", repo, "--good", "c0", "--bad", "c12", "--rig", "virtual-x86",
		"--scenario", "unplug-read", "--store", store, "--build", "echo broken; exit 1"], 130);
	tell("c1", "good");

	const base = await serve(store);
	const page = await open();
	const rows = (name) => page.$$eval(`[aria-label="${name}"] tbody tr`, (all) => all.map((tr) => tr.innerText));

	await page.clock.install();
	await visit(page, base + "bisects", /Bisects/);
	await page.click("table.rows tbody th a");
	await page.waitForURL(/\/bisects\/./);
	await page.evaluate(() => { window.isSame = true; });
	const before = await rows("Candidates");

	check("a subject is text", before.some((r) => r.includes("change <2>")), before.join("\n"));
	for (const [rev, word] of [["c8", "bad"], ["c5", "good"], ["c6", "bad"]]) {
		const was = (await rows("Candidates")).join("\n");

		tell(rev, word);
		await page.clock.fastForward(6000);
		await page.waitForFunction((old) => [...document.querySelectorAll('[aria-label="Candidates"] tbody tr')]
			.map((tr) => tr.innerText).join("\n") !== old, was, {timeout: 20000})
			.catch((e) => check(`the posterior follows ${rev} ${word}`, false, e.message));
	}
	const after = await rows("Candidates");
	const sum = after.reduce((s, r) => s + parseFloat(/([\d.]+) %/.exec(r)[1]), 0);

	check("the likeliest commit is first", after[0].includes("change <6>"), after[0]);
	check("the posterior is one", Math.abs(sum - 100) <= .05 * after.length + .1, String(sum));
	check("the first sentence says it", /The likeliest so far is \w+ change <6>, with 9\d\.\d %/.test(await page.innerText(".lead")), await page.innerText(".lead"));
	check("what comes next and how long it takes", /^Next step: tests .*about .* left/.test(await page.innerText(".next")), await page.innerText(".next"));
	check("all that was told is there", (await rows("Tested")).length === 4, (await rows("Tested")).join("\n"));
	check("without another page", await page.evaluate(() => window.isSame === true));
	await accessible(page);
	await shoot(page, "bisect");
	await page.context().close();
	command(STALLRIG, ["bisect", "stop", "--remove"]);
};

/* What a published folder is served by. */
const fileServer = (dir) => new Promise((done) => {
	const types = {html: "text/html", css: "text/css", js: "text/javascript", json: "application/json", svg: "image/svg+xml"};
	const server = createServer(async (rq, rp) => {
		let path = join(dir, normalize(decodeURIComponent(new URL(rq.url, "http://x").pathname)));

		try {
			if ((await stat(path)).isDirectory())
				path = join(path, "index.html");
			const bytes = await readFile(path);

			rp.setHeader("Content-Type", types[path.split(".").pop()] || "application/octet-stream");
			rp.end(bytes);
		} catch {
			rp.statusCode = 404;
			rp.end();
		}
	});

	server.listen(0, "127.0.0.1", () => done({server, url: `http://127.0.0.1:${server.address().port}/`}));
});

const staticPages = async () => {
	const dir = join(WORK, "site");
	const made = spawnSync(STALLRIG, ["report", "--store", join(WORK, "lab.db"), "--html", dir + "/"], {encoding: "utf8"});

	check("report --html DIR works", made.status === 0, made.stderr);
	const {server, url} = await fileServer(dir);
	const page = await open();

	await visit(page, url, /got worse/);
	await page.click(".cell.new a");
	await page.waitForURL(/\/runs\/.*\.html/);
	await page.click("table.trials tbody th a");
	await page.waitForURL(/\/trials\/.*\.html/);
	await page.goto(url);
	await page.click(".change.worse >> text=trend");
	await page.waitForSelector(".chart canvas");
	await page.goto(url);
	await page.click(".change.worse >> text=compare");
	await page.waitForSelector(".chart canvas");
	for (const link of await page.$$eval("nav a", (all) => all.map((a) => a.href)))
		check(`${link} is there`, (await page.goto(link)).status() === 200);
	await page.context().close();
	server.close();

	/* the same from a disk, without any server */
	const local = await open();
	const index = `file://${dir}/index.html`;

	await local.goto(index);
	check("a page from a disk has its style", await local.evaluate(() => getComputedStyle(document.body).margin) === "0px");
	for (const [link, charts] of [[".change.worse >> text=trend", 1], [".change.worse >> text=compare", 3]]) {
		await local.goto(index);
		await local.click(link);
		await local.locator(".chart canvas").nth(charts - 1).waitFor();
	}
	await local.goto(index);
	await local.click(".cell.new a");
	await local.click("table.trials tbody th a");
	check("a trial from a disk has its timeline", await local.locator(".tl svg").count() > 3);
	await local.context().close();
};

/* Files for more runs than they are made of: every link leads to a file. */
const staticLinks = async () => {
	const dir = join(WORK, "many");
	const made = spawnSync(STALLRIG, ["report", "--store", join(WORK, "many.db"), "--html", dir + "/"], {encoding: "utf8"});
	const files = (await readdir(dir, {recursive: true, withFileTypes: true})).filter((f) => f.isFile())
		.map((f) => join(f.parentPath ?? f.path, f.name));
	const there = new Set(files);
	let nLinks = 0;

	check("report --html DIR works for many runs", made.status === 0, made.stderr);
	for (const file of files.filter((f) => f.endsWith(".html")))
		for (const [, url] of (await readFile(file, "utf8")).matchAll(/(?:href|src|data-(?:trend|ecdf|histogram|samples))="([^"#]+)/g)) {
			const target = normalize(join(file, "..", decodeURIComponent(url.split("?")[0])));

			nLinks++;
			if (!/^https?:/.test(url) && !there.has(target))
				check("a link leads to a file", false, `${file}: ${url}`);
		}
	check("there are links", nLinks > 1000, String(nLinks));
};

/* A real run on the virtual rig, watched. */
const livePages = async () => {
	const store = join(process.env.STALLRIG_STATE, "results.db");
	let ended = false;
	let status;
	const run = spawn(STALLRIG, ["run", "--rig", "virtual-x86", "--scenario", "unplug-read",
		"--kernel", "debian:6.12", "--trials", "1"], {stdio: ["ignore", "ignore", "inherit"]});

	run.once("exit", (code) => { ended = true; status = code; });
	children.push(run);
	for (let i = 0; i < 600 && !ended; i++) {
		const runs = spawnSync(STALLRIG, ["report", "--json", "-", "--store", store], {encoding: "utf8"});

		if (runs.status === 0 && JSON.parse(runs.stdout).runs.length)
			break;
		await sleep(200);
	}
	const base = await serve(store);
	const page = await open();

	await visit(page, base, /./);
	await page.click("a.running");
	await page.waitForURL(/\/live\//);
	await page.waitForSelector("ol.console.live li:nth-child(20)", {timeout: 120000});
	await accessible(page);

	const id = page.url().split("/").pop();
	const raw = (boot) => join(process.env.STALLRIG_STATE, "recordings", id, `boot-${boot}`, "console.raw");
	const sawDelay = page.waitForFunction(() => document.querySelector("#live-delay").textContent !== "–", null, {timeout: 240000});

	await sawDelay.catch((e) => check("a delay arrives live", false, e.message));
	await page.screenshot({path: join(OUT, "live-1280.png")});
	check("the recording is there", (await stat(raw(1))).size > 1000);
	await page.waitForFunction(() => /has ended/.test(document.querySelector("#live-state").textContent), null, {timeout: 600000})
		.catch((e) => check("the end arrives live", false, e.message));
	for (let i = 0; i < 100 && !ended; i++)
		await sleep(100);
	check("the run ended with a verdict", [0, 1, 125].includes(status), String(status));
	check("its trials arrived live", await page.locator("#live-trials tr").count() > 0);
	await page.click("#live-trials a >> nth=0");
	await page.waitForURL(/\/trials\//);
	check("the recorded console is shown", await page.locator("ol.console li").count() > 20);
	const crossing = await page.$$eval("svg.lane", (lanes) => lanes.flatMap((lane) => {
		const boxes = [...lane.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);

		return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
			.filter(([, q]) => p.left < q.right && q.left < p.right).map(([b]) => `${a} and ${b}`));
	}));

	check("no words of the timeline lie across others", !crossing.length, crossing.join(", "));
	check("the disconnect is marked", await page.locator("ol.console li.anchor").count() === 1);
	await accessible(page);
	await shoot(page, "trial");
	await page.context().close();
};

/* A recording that grows under a run that has not ended: every line gets to the screen. How soon is
   printed, not asserted: it is the machine's load as much as the server. */
const latency = async () => {
	const store = join(WORK, "going.db");
	const made = spawnSync(join(STALLRIG, "..", "tests/bench/dashboard_fill"),
		[store, "--nights", "1", "--rigs", "1", "--kernels", "1", "--trials", "1", "--going", "1"], {encoding: "utf8"});

	check("a store with a run that goes on", made.status === 0, made.stderr);
	const dir = join(WORK, "recordings", "n00000-00-00", "boot-1");

	await mkdir(dir, {recursive: true});
	await appendFile(join(dir, "console.raw"), "[    0.000000] Linux version 6.12\n");
	const base = await serve(store, "--recordings", join(WORK, "recordings"));
	const page = await open();

	await page.goto(base + "live/n00000-00-00");
	await page.waitForSelector("ol.console.live li:nth-child(2)");
	const times = [];

	for (let i = 0; i < 40; i++) {
		const seen = page.evaluate((text) => new Promise((done) => {
			const box = document.querySelector("ol.console.live");
			const end = (when) => (observer.disconnect(), clearTimeout(patience), done(when));
			const look = () => box.textContent.includes(text) && end(Date.now());
			const observer = new MutationObserver(look);
			const patience = setTimeout(() => end(null), 60000);

			observer.observe(box, {childList: true, subtree: true, characterData: true});
			look();
		}), `line-${i}-end`);

		await sleep(30 + 7 * (i % 10));
		const from = Date.now();

		await appendFile(join(dir, "console.raw"), `[    1.0000${i}] line-${i}-end\n`);
		const when = await seen;

		check(`line ${i} arrives live`, when !== null);
		if (when === null)
			break;
		times.push(when - from);
	}
	times.sort((a, b) => a - b);
	if (times.length)
		console.log(`live: from disk to screen, n=${times.length}: median ${times[times.length >> 1]} ms, worst ${times.at(-1)} ms`);
	await page.context().close();
};

await main(...(LIVE !== "only" ? [labPages, widePages, exports, staticPages, staticLinks, latency, keyboardPages, bisectPages, actionPages] : []),
	...(LIVE !== "0" ? [livePages] : []));
