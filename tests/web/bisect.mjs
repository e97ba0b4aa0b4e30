/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bisect.mjs - a bisect that goes on, watched until its end. See tests/system/bisect.sh, which makes
   the real one and goes on with it once the file "watched" is there. */
import {writeFileSync} from "node:fs";
import {join} from "node:path";

import {WORK, accessible, check, main, open, serve, shoot, visit} from "./browser.mjs";

const PATIENCE_MS = 3600 * 1000;
const {CULPRIT, STALLRIG_STATE} = process.env;

/* What stands on the page. */
const look = (page) => page.evaluate(() => {
	const rows = (name) => [...document.querySelectorAll(`[aria-label="${name}"] tbody tr`)];

	return {
		isSame: window.isSame === true,
		lead: document.querySelector(".lead").innerText,
		facts: document.querySelector("dl.facts").innerText,
		candidates: rows("Candidates").map((tr) => [tr.querySelector("code")?.title, tr.querySelector("td.num").innerText]),
		tests: rows("Tested").map((tr) => ({
			commit: tr.querySelector("code").title,
			over: tr.querySelector("td.num").innerText,
			dots: tr.querySelectorAll("circle").length,
			isLinked: tr.querySelector("a") !== null,
		})),
	};
});

const whole = (now) => {
	const sum = now.candidates.reduce((s, [, p]) => s + parseFloat(p), 0);

	/* each is rounded to 0.1 % */
	check("the posterior is one", Math.abs(sum - 100) <= 0.05 * now.candidates.length + .1, String(sum));
	check("a boot has its trials as dots", now.tests.every((t) => !t.isLinked || t.dots === Number(t.over.split("/")[1])),
		JSON.stringify(now.tests));
};

const bisectPages = async () => {
	const base = await serve(join(STALLRIG_STATE, "results.db"));
	const page = await open();

	await visit(page, base + "bisects", /Bisects/);
	await page.click("table.rows tbody th a");
	await page.waitForURL(/\/bisects\/./);
	await page.evaluate(() => { window.isSame = true; });
	const before = await look(page);

	whole(before);
	check("it goes on", !/ended/.test(before.facts) && await page.locator(".next").count() === 1, before.facts);
	check("what was tested is there", before.tests.length > 0);
	await accessible(page);
	await shoot(page, "bisect-live");
	writeFileSync(join(WORK, "watched"), "");

	/* nobody reloads the page: it asks for itself */
	const changes = await page.evaluate((patience) => new Promise((done, fail) => {
		const seen = {posteriors: new Set(), etas: 0};
		const note = () => {
			const list = document.querySelector('[aria-label="Candidates"] tbody');

			if (list)
				seen.posteriors.add(list.innerText);
			if (/about .* left/.test(document.querySelector(".next")?.innerText))
				seen.etas++;
			if (/The culprit is/.test(document.querySelector(".lead")?.innerText) &&
			    /ended/.test(document.querySelector("dl.facts")?.innerText)) {
				observer.disconnect();
				done({posteriors: seen.posteriors.size, etas: seen.etas});
			}
		};
		const observer = new MutationObserver(note);

		setTimeout(() => fail(new Error("no end in sight")), patience);
		observer.observe(document.querySelector("main"), {childList: true, subtree: true});
		note();
	}), PATIENCE_MS);
	const after = await look(page);

	console.log(`a bisect watched: ${changes.posteriors} posteriors, ${before.tests.length} tests before, ${after.tests.length} at its end`);
	check("the posterior changes while one looks on", changes.posteriors > 2, JSON.stringify(changes));
	check("how long it takes is said", changes.etas > 0, JSON.stringify(changes));
	check("without another page", after.isSame);
	whole(after);
	check("tests are added", after.tests.length > before.tests.length);
	check("the likeliest commit is first", after.candidates[0][0] === CULPRIT, after.candidates[0][0]);
	check("the culprit is named", await page.getAttribute(".lead code", "title") === CULPRIT);
	await accessible(page);
	await shoot(page, "bisect");
	const answer = await (await page.context().request.get(page.url().replace("/bisects/", "/api/v1/bisects/"))).json();

	check("the API says the same", answer.culprit === CULPRIT && answer.tests.length === after.tests.length, JSON.stringify(answer).slice(0, 200));
	await page.click('[aria-label="Tested"] tbody a');
	await page.waitForURL(/\/runs\//);
	await page.click("table.trials tbody th a");
	await page.waitForURL(/\/trials\//);
	check("a trial of it has its timeline", await page.locator(".tl svg").count() > 3);
	await page.context().close();
};

await main(bisectPages);
