/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dashboard_paint.mjs URL - when the first content of a page is painted, and what the page weighs, as
   JSON. Each visit has an empty cache. */
import {chromium} from "playwright-core";

const visits = 9;
const browser = await chromium.launch({executablePath: "/usr/bin/chromium",
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync"]});
const times = [];
let bytes = 0;

for (let i = 0; i < visits; i++) {
	const context = await browser.newContext({viewport: {width: 1280, height: 800}});
	const page = await context.newPage();
	const cdp = await context.newCDPSession(page);

	bytes = 0;
	await cdp.send("Network.enable");
	cdp.on("Network.loadingFinished", (ev) => { bytes += ev.encodedDataLength; });
	await page.goto(process.argv[2], {waitUntil: "load"});
	times.push(await page.evaluate(() => new Promise((done) => new PerformanceObserver((list) => {
		const entry = list.getEntriesByName("first-contentful-paint")[0];

		if (entry)
			done(entry.startTime);
	}).observe({type: "paint", buffered: true}))));
	await context.close();
}
await browser.close();
times.sort((a, b) => a - b);
console.log(JSON.stringify({n: visits, p50_ms: Math.round(times[visits >> 1]), worst_ms: Math.round(times.at(-1)), bytes}));
