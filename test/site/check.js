// Opens every page of the site that is built from docs/ in a headless browser, and tries the site's
// search. A page fails if a file that it requests is missing, if a picture is not drawn, if a script
// has an error, or if the anchor of a link within the site is missing.
//
//   node check.js SITE-FOLDER [SCREENSHOTS-FOLDER]
'use strict';

const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
const { chromium } = require('playwright-core');

const SEARCHED = [['pg_num', 'pg-num'], ['ClusterChanged', 'failures'], ['StorageClass', 'benchmark-a-storageclass']];
const LIMIT = 30000; // milliseconds, for a page or the results of a search

async function main([site, screenshots]) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--allow-file-access-from-files'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
    page.setDefaultTimeout(LIMIT);
    const files = fs.readdirSync(site, { recursive: true }).filter((f) => f.endsWith('.html') && !f.startsWith('_') && f !== 'index.html').sort();
    if (files.length < 20) throw new Error(`${site} has ${files.length} pages: is it built?`);
    let problems = await checkEntrance(page, site);
    for (const file of files) problems = problems.concat(await checkPage(page, site, file));
    for (const [word, wanted] of SEARCHED) problems = problems.concat(await checkSearch(page, site, word, wanted));
    if (screenshots) await show(page, site, screenshots);
    for (const problem of problems) console.log(`FAILED ${problem}`);
    console.log(`${files.length} pages and ${SEARCHED.length} searches: ${problems.length} problems.`);
    return problems.length ? 1 : 0;
  } finally {
    await browser.close();
  }
}

// watched runs an action. It returns the problems that the action reports, and the page's errors during
// the action.
async function watched(page, name, action) {
  const problems = [];
  const failed = (request) => problems.push(`${name}: ${request.url()} is missing`);
  const threw = (error) => problems.push(`${name}: ${error.message}`);
  page.on('requestfailed', failed);
  page.on('pageerror', threw);
  try {
    await action(problems);
  } catch (error) {
    problems.push(`${name}: ${error.message}`);
  } finally {
    page.off('requestfailed', failed);
    page.off('pageerror', threw);
  }
  return problems;
}

// checkEntrance checks that index.html leads to the page README.html.
function checkEntrance(page, site) {
  return watched(page, 'index.html', async () => {
    await page.goto(pathToFileURL(path.resolve(site, 'index.html')).href);
    await page.waitForURL('**/README.html');
  });
}

function checkPage(page, site, file) {
  return watched(page, file, async (problems) => {
    await page.goto(pathToFileURL(path.resolve(site, file)).href, { waitUntil: 'load' });
    const found = await page.evaluate(() => ({
      heading: !!document.querySelector('h1'),
      blank: [...document.images].filter((i) => !i.naturalWidth && !i.src.startsWith('http')).map((i) => i.src),
      links: [...document.querySelectorAll('main a[href], article a[href]')].map((a) => a.href).filter((href) => href.startsWith('file:') && href.includes('#')),
    }));
    if (!found.heading && !/^(search|genindex)/.test(file)) problems.push(`${file}: it has no heading`);
    for (const src of found.blank) problems.push(`${file}: the picture ${src} is not drawn`);
    for (const link of new Set(found.links)) {
      const [target, anchor] = [new URL(link).pathname, decodeURIComponent(new URL(link).hash.slice(1))];
      if (anchor && !hasAnchor(decodeURIComponent(target), anchor)) problems.push(`${file}: ${path.basename(target)} has no #${anchor}`);
    }
  });
}

const texts = new Map();

function hasAnchor(file, anchor) {
  if (!texts.has(file)) texts.set(file, fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');
  return texts.get(file).includes(`id="${anchor}"`);
}

function checkSearch(page, site, word, wanted) {
  return watched(page, `the search for ${word}`, async () => {
    await page.goto(`${pathToFileURL(path.resolve(site, 'search.html')).href}?q=${word}`, { waitUntil: 'load' });
    await page.waitForSelector(`#search-results a[href*="${wanted}"]`);
  });
}

async function show(page, site, folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (const file of ['README.html', 'sweeps.html', 'search.html?q=pg_num']) {
    const [name, query] = file.split('?');
    await page.goto(pathToFileURL(path.resolve(site, name)).href + (query ? `?${query}` : ''), { waitUntil: 'load' });
    await page.waitForTimeout(1500); // The search page adds its results one after another.
    await page.screenshot({ path: path.join(folder, `site-${name.replace('.html', '.png')}`) });
  }
}

main(process.argv.slice(2)).then((code) => process.exit(code), (error) => { console.error(error); process.exit(1); });
