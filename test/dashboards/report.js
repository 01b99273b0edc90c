// Takes pictures of reports for the documentation, each in a light and a dark version.
//
//   node report.js FOLDER FILE.html=NAME[@SELECTOR]…
//
// The light picture of FILE.html is FOLDER/report-NAME-light.png. It shows the first element that
// SELECTOR matches. Without SELECTOR it shows only the upper part of the page, because the lower part
// has only tables.
'use strict';

const path = require('path');
const { pathToFileURL } = require('url');
const { chromium } = require('playwright-core');

const WIDTH = 1000; // of the browser window, in pixels
const HEIGHT = 1900; // of the browser window, in pixels

async function main([folder, ...pages]) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking'],
  });
  let failures = 0;
  try {
    for (const page of pages) {
      const [file, what] = page.split('=');
      const [name, selector] = what.split('@');
      for (const colorScheme of ['light', 'dark']) failures += await take(browser, file, selector, colorScheme, path.join(folder, `report-${name}-${colorScheme}.png`));
    }
  } finally {
    await browser.close();
  }
  return failures ? 1 : 0;
}

// take writes one picture and returns the number of problems. A report must load no other file, and
// must not be wider than the window.
async function take(browser, file, selector, colorScheme, picture) {
  const context = await browser.newContext({ colorScheme, viewport: { width: WIDTH, height: HEIGHT }, offline: true });
  try {
    const page = await context.newPage();
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    const address = pathToFileURL(path.resolve(file)).href;
    await page.goto(address);
    await (selector ? page.locator(selector).first() : page).screenshot({ path: picture });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    const problems = asked.filter((one) => one !== address && !one.startsWith('data:')).map((one) => `it loads ${one}`);
    if (wide > 0) problems.push(`it is ${wide} pixels wider than the window`);
    for (const problem of problems) console.error(`${file} (${colorScheme}): ${problem}`);
    console.log(picture);
    return problems.length;
  } finally {
    await context.close();
  }
}

main(process.argv.slice(2)).then(
  (status) => process.exit(status),
  (error) => {
    console.error(`report: ${error.message}`);
    process.exit(1);
  },
);
