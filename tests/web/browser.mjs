/* SPDX-License-Identifier: GPL-2.0-or-later */
/* browser.mjs - what the tests with a browser share: the server, Chromium, checks, screenshots. See
   lib.sh for what the environment says. */
import {spawn} from "node:child_process";
import {openSync} from "node:fs";
import {readFile} from "node:fs/promises";
import {createRequire} from "node:module";
import {join} from "node:path";

import {chromium} from "playwright-core";

export const {STALLRIG, WORK, OUT} = process.env;
const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const children = [];
let nChecks = 0;
let nFailed = 0;

export const check = (what, isTrue, detail = "") => {
	nChecks++;
	if (isTrue)
		return;
	nFailed++;
	console.error(`FAIL: ${what}${detail ? ": " + detail : ""}`);
};

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/* Starts a server; resolves to its URL. */
export const serve = (store, ...more) => new Promise((done, fail) => {
	const child = spawn(STALLRIG, ["serve", "--port", "0", "--store", store, ...more], {
		stdio: ["ignore", "pipe", more.includes("--token-file") ? openSync(join(WORK, "log"), "a") : "inherit"],
		env: {...process.env, ...(more.includes("--token-file") ? {STALLRIG_RIGS: join(WORK, "rigs")} : {})},
	});

	children.push(child);
	child.stdout.once("data", (url) => done(String(url).trim()));
	child.once("exit", (code) => fail(new Error(`serve ended with ${code}`)));
});

const browser = await chromium.launch({executablePath: "/usr/bin/chromium",
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync"]});

/* A page whose errors count, but for those that are meant. */
export const open = async ({meant = null, ...options} = {}) => {
	const context = await browser.newContext({viewport: {width: 1280, height: 800}, ...options});
	const page = await context.newPage();

	page.on("console", (m) => {
		if ((m.type() === "error" || m.type() === "warning") && !meant?.test(m.text()))
			check("no console message", false, `${page.url()}: ${m.text()}`);
	});
	page.on("pageerror", (e) => check("no script error", false, `${page.url()}: ${e.message}`));
	return page;
};

export const visit = async (page, url, heading) => {
	const reply = await page.goto(url, {waitUntil: "load"});
	const h1 = await page.textContent("h1");

	check(`${url} answers`, reply.status() === 200, String(reply.status()));
	check(`${url} has its heading`, heading.test(h1), h1);
};

export const accessible = async (page) => {
	/* by the debugger's protocol: the page's own policy forbids it otherwise */
	await page.evaluate(axeSource);
	const found = await page.evaluate(() => window.axe.run(document,
		{runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}));

	for (const v of found.violations)
		check("accessible", false, `${page.url()}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")}`);
	check("axe looked at something", found.passes.length > 5);
};

export const shoot = async (page, name) => {
	for (const [width, height] of [[390, 844], [1280, 800], [2560, 1440]]) {
		await page.setViewportSize({width, height});
		await sleep(150);
		const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

		check(`${name} fits ${width} px`, overflow <= 0, `${overflow} px too wide`);
		/* a matrix has as many columns as there are rigs, and may scroll */
		const cut = await page.evaluate(() => [...document.querySelectorAll("table.rows")]
			.filter((t) => t.getBoundingClientRect().right > t.closest(".card").getBoundingClientRect().right)
			.map((t) => t.innerText.slice(0, 60)));

		check(`${name} has whole tables at ${width} px`, !cut.length, cut.join(" | "));
		await page.screenshot({path: join(OUT, `${name}-${width}.png`)});
	}
	await page.setViewportSize({width: 1280, height: 800});
};

/* Runs the parts one after the other; the process ends with 1 if a check failed. */
export const main = async (...parts) => {
	try {
		for (const part of parts)
			await part();
	} catch (e) {
		check("the test goes through", false, e.stack);
	} finally {
		await browser.close();
		for (const child of children) {
			child.removeAllListeners("exit");
			child.kill("SIGTERM");
		}
	}
	console.log(`${nChecks - nFailed} passed, ${nFailed} failed; screenshots in ${OUT}`);
	process.exitCode = nFailed ? 1 : 0;
};
