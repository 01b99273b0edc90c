// Opens Grafana's dashboards in a headless browser, and checks every panel. Grafana must draw the
// panel, its queries must succeed, and the panel must show their results. If a panel has no data,
// it must show its text for that case ("noValue"), and the plan must list it with the reason.
//
//   node check.js PLAN.json GRAFANA-URL SCREENSHOTS-FOLDER
//
// PLAN.json is {from, to, visits: [{dashboard, variables, to, moment, empty, mayBeEmpty,
// noAnnotations}]}. A visit opens one dashboard. "empty" and "mayBeEmpty" map titles of panels to
// reasons: panels in "empty" must have no data, and panels in "mayBeEmpty" may have none. If a
// visit has its own "to", "moment" is a name for that time. "noAnnotations" is the reason why a
// visit must show no annotations.
'use strict';

const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');

const SECONDS = 1000;
const READY_LIMIT = 120 * SECONDS; // until Grafana has all dashboards
const VISIT_LIMIT = 120 * SECONDS; // until a dashboard is drawn
const AT_REST = 3 * SECONDS; // A dashboard without a change for this time counts as drawn.
const ANNOTATIONS = 0; // the key for queries of annotations in "answers", where a panel's key is its ID
const WIDTH = 1600;
const GRID_ROW = 38; // height of a row of Grafana's grid with its gap, in pixels
const SURROUNDINGS = 170; // height of everything above and below the panels, in pixels

async function main([planFile, grafana, screenshots]) {
  const plan = JSON.parse(fs.readFileSync(planFile, 'utf8'));
  await until(READY_LIMIT, 'Grafana to have all dashboards', () => hasDashboards(grafana, plan));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  });
  let failures = 0;
  try {
    for (const visit of plan.visits) {
      const started = Date.now();
      const found = await checkVisit(browser, grafana, plan, visit, screenshots);
      failures += found.problems.length;
      console.log(`${found.problems.length ? 'FAILED' : 'ok    '} ${nameOf(visit)}: ${found.shown} panels show data, ` +
        `${found.empty} are empty for a reason (${((Date.now() - started) / SECONDS).toFixed(1)} s)`);
      for (const problem of found.problems) console.log(`       - ${problem}`);
    }
  } finally {
    await browser.close();
  }
  console.log(`Screenshots are in ${screenshots}.`);
  return failures ? 1 : 0;
}

// until polls done until it returns true. An error counts as false, because connections fail until
// Grafana listens.
async function until(limit, what, done) {
  const deadline = Date.now() + limit;
  for (;;) {
    if (await done().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error(`waited ${limit / SECONDS} s in vain for ${what}`);
    await sleep(0.5 * SECONDS);
  }
}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function hasDashboards(grafana, plan) {
  for (const uid of new Set(plan.visits.map((visit) => visit.dashboard))) {
    if (!(await fetch(`${grafana}/api/dashboards/uid/${uid}`)).ok) return false;
  }
  return true;
}

function nameOf(visit) {
  return [visit.dashboard, ...Object.values(visit.variables), ...(visit.moment ? [visit.moment] : [])].join(' ');
}

// checkVisit opens one dashboard with one choice of variables, and returns the problems that it finds.
async function checkVisit(browser, grafana, plan, visit, screenshots) {
  const { dashboard } = await (await fetch(`${grafana}/api/dashboards/uid/${visit.dashboard}`)).json();
  const panels = dashboard.panels.filter((panel) => panel.type !== 'row');
  const rows = Math.max(...dashboard.panels.map((panel) => panel.gridPos.y + panel.gridPos.h));
  // Grafana draws only visible panels, so the window must show all of them.
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: rows * GRID_ROW + SURROUNDINGS },
    locale: 'en-US',
    timezoneId: 'UTC',
  });
  const problems = dashboard.panels.filter((panel) => panel.collapsed).map((row) => `the row "${row.title}" is collapsed`);
  const answers = new Map([ANNOTATIONS, ...panels.map((panel) => panel.id)].map((id) => [id, { queries: 0, values: 0 }]));
  try {
    // For recorded data, set the browser's clock to the end of the recording. Grafana then shows
    // relative times such as "in two hours", not "ten months ago".
    if (!plan.to.startsWith('now')) await context.clock.install({ time: visit.to || plan.to });
    const page = await context.newPage();
    page.setDefaultTimeout(VISIT_LIMIT);
    page.on('pageerror', (error) => problems.push(`the page has an error: ${error.message}`));
    const listening = listen(page, grafana, answers, problems);
    await page.goto(addressOf(grafana, plan, visit));
    const drawn = await untilAtRest(page, listening, panels);
    await page.screenshot({ path: path.join(screenshots, `${nameOf(visit).replace(/[^A-Za-z0-9]+/g, '-')}.png`) });
    const judged = judge(panels, answers, drawn, visit.empty || {}, visit.mayBeEmpty || {});
    problems.push(...judged.problems, ...judgeAnnotations(dashboard, answers.get(ANNOTATIONS), visit), ...otherVariables(page, visit));
    return { ...judged, problems };
  } catch (error) {
    problems.push(error.message);
    return { problems, shown: 0, empty: 0 };
  } finally {
    await context.close();
  }
}

function addressOf(grafana, plan, visit) {
  const time = (text) => (text.startsWith('now') ? text : Date.parse(text));
  const parameters = new URLSearchParams({ orgId: 1, from: time(plan.from), to: time(visit.to || plan.to) });
  for (const [name, value] of Object.entries(visit.variables)) parameters.set(`var-${name}`, value);
  return `${grafana}/d/${visit.dashboard}?${parameters}`;
}

// listen counts the page's requests, and notes the results of queries in "answers". A panel's
// queries have the panel's ID in a header. A response with an HTTP error is a problem.
function listen(page, grafana, answers, problems) {
  const state = { asked: 0, answered: 0 };
  page.on('request', () => state.asked++);
  page.on('requestfailed', () => state.answered++);
  page.on('response', async (response) => {
    const address = response.url().replace(grafana, '');
    try {
      const answer = answers.get(Number(response.request().headers()['x-panel-id'] || ANNOTATIONS));
      if (response.status() >= 400) problems.push(`${response.status()} for ${address}: ${(await response.text()).trim().slice(0, 300)}`);
      else if (address.startsWith('/api/ds/query')) note(answer, (await response.json()).results, problems);
    } catch (error) {
      problems.push(`${address}: ${error.message}`);
    } finally {
      state.answered++;
    }
  });
  return state;
}

function note(answer, results, problems) {
  for (const [query, result] of Object.entries(results)) {
    if (result.error) problems.push(`query ${query}: ${result.error}`);
    answer.queries++;
    answer.values += (result.frames || []).filter(hasValues).length;
  }
}

function hasValues(frame) {
  return frame.schema.fields.some((field, i) => field.type !== 'time' && frame.data.values[i].some((value) => value !== null && value !== ''));
}

// untilAtRest returns the state of each panel, once loading has ended and nothing has changed for
// AT_REST.
async function untilAtRest(page, listening, panels) {
  const deadline = Date.now() + VISIT_LIMIT;
  let before = '';
  let since = Date.now();
  for (;;) {
    const drawn = await page.evaluate(look, panels.map((panel) => panel.id));
    const now = JSON.stringify([drawn, listening]);
    if (now !== before || drawn.some((panel) => panel.loading) || listening.asked > listening.answered) since = Date.now();
    if (Date.now() - since >= AT_REST) return drawn;
    if (Date.now() > deadline) throw new Error(`not drawn after ${VISIT_LIMIT / SECONDS} s: ${describe(drawn, listening)}`);
    before = now;
    await sleep(0.3 * SECONDS);
  }
}

function describe(drawn, listening) {
  const loading = drawn.filter((panel) => panel.loading || !panel.there).map((panel) => panel.id);
  return `${listening.asked - listening.answered} requests without an answer, panels that load or are missing: ${loading.join(', ') || 'none'}`;
}

// look runs in the page and returns the visible state of each panel.
function look(ids) {
  const painted = (canvas) => {
    if (!canvas.width || !canvas.height) return false;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 3; i < data.length; i += 4) if (data[i]) return true;
    return false;
  };
  return ids.map((id) => {
    const item = document.querySelector(`[data-panelid="${id}"]`);
    if (!item) return { id, there: false };
    const status = item.querySelector('[aria-label="Panel status"]');
    const content = item.querySelector('[class*="panel-content"]');
    return {
      id,
      there: true,
      title: item.querySelector('h6')?.innerText || '',
      loading: Boolean(item.querySelector('[aria-label="Panel loading bar"]')) || !content,
      error: status ? status.getAttribute('title') || status.innerText || 'a mark without words' : '',
      text: content?.innerText.trim() || '',
      painted: content ? [...content.querySelectorAll('canvas')].some(painted) : false,
      cells: content?.querySelectorAll('[role="cell"]').length || 0,
    };
  });
}

// judge returns the panels' problems, and the numbers of panels that show data and of panels that
// are empty for a reason.
function judge(panels, answers, drawn, empty, mayBeEmpty) {
  const excuses = { ...empty, ...mayBeEmpty };
  const titles = panels.map((panel) => panel.title);
  const found = { shown: 0, empty: 0, problems: [] };
  for (const title of Object.keys(excuses)) {
    if (!titles.includes(title)) found.problems.push(`the plan excuses "${title}", which is no panel`);
  }
  for (const panel of panels) {
    const seen = drawn.find((one) => one.id === panel.id);
    const isEmpty = seen.there && saysWhyEmpty(panel, seen);
    let problem = problemOf(panel, answers.get(panel.id), seen);
    if (!problem && isEmpty && !excuses[panel.title]) problem = `is empty and says: ${seen.text}`;
    if (!problem && !isEmpty && empty[panel.title]) problem = `shows something, although ${empty[panel.title]}: ${seen.text.slice(0, 100)}`;
    if (!problem && !isEmpty) problem = problemOfData(panel, answers.get(panel.id), seen);
    if (problem) found.problems.push(`"${panel.title}" ${problem}`);
    else found[isEmpty ? 'empty' : 'shown']++;
  }
  return found;
}

// saysWhyEmpty reports whether a panel shows its text for having no data. A table shows that text in
// its only row.
function saysWhyEmpty(panel, seen) {
  const why = panel.fieldConfig?.defaults?.noValue;
  return panel.type === 'table' ? seen.text.includes(why) : seen.text === why;
}

function problemOf(panel, answer, seen) {
  if (!seen.there) return 'is not there';
  if (seen.title !== panel.title) return `has the title "${seen.title}"`;
  if (seen.error) return `has an error: ${seen.error}`;
  return answer.queries ? '' : 'asked nothing';
}

function problemOfData(panel, answer, seen) {
  if (!answer.values) return `has no data, and does not say why: ${seen.text.slice(0, 100)}`;
  return isDrawn(panel, seen) ? '' : `has data and shows nothing, as ${panel.type}: ${JSON.stringify(seen)}`;
}

function isDrawn(panel, seen) {
  switch (panel.type) {
    case 'table':
      return seen.cells > 0;
    case 'stat':
      return seen.text !== '';
    default:
      return seen.painted;
  }
}

// judgeAnnotations checks that the annotations have data, unless the visit must show none. Queries of
// annotations do not name their annotation, so the check covers all annotations together.
function judgeAnnotations(dashboard, answer, visit) {
  const names = dashboard.annotations.list.filter((one) => one.enable && !one.builtIn).map((one) => one.name);
  if (answer.queries < names.length) return [`Grafana asked for ${answer.queries} of the annotations ${names.join(', ')}`];
  if (names.length && !answer.values && !visit.noAnnotations) return [`the annotations ${names.join(', ')} have no data`];
  if (answer.values && visit.noAnnotations) return [`there are annotations, although ${visit.noAnnotations}`];
  return [];
}

// otherVariables returns a problem for each variable that has another value in the page's address
// than in the visit.
function otherVariables(page, visit) {
  const now = new URL(page.url()).searchParams;
  return Object.entries(visit.variables)
    .filter(([name, value]) => now.get(`var-${name}`) !== value)
    .map(([name, value]) => `the variable ${name} is "${now.get(`var-${name}`)}", and not "${value}"`);
}

main(process.argv.slice(2)).then(
  (status) => process.exit(status),
  (error) => {
    console.error(`check: ${error.message}`);
    process.exit(1);
  },
);
