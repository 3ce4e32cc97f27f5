/**
 * Runs axe-core on the built page: node test/accessibility.mjs ADDRESS, with the address that nearkin studio printed.
 * CHROMIUM names the browser. Exits with 1 if there are violations.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
];

const address = process.argv[2];
if (!address) throw new Error("Give the address that nearkin studio printed.");

const STATES = {
  start: async () => undefined,
  review: async (page) => {
    await page.keyboard.press("r");
    await page.waitForTimeout(3000);
  },
  "answered and selected": async (page) => {
    await page.keyboard.press("d");
    await page.waitForTimeout(400);
    await page.keyboard.press("m");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(800);
  },
  answers: async (page) => {
    await page.keyboard.press("Escape");
    await page.getByTestId("panel-said").click();
  },
  details: async (page) => page.getByTestId("panel-details").click(),
  about: async (page) => {
    await page.keyboard.press("i");
    await page.waitForTimeout(300);
    await page.keyboard.press("Escape");
  },
  export: async (page) => page.getByTestId("export").click(),
  help: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForTimeout(300);
  },
  found: async (page) => {
    await page.keyboard.press("Escape");
    await page.getByTestId("search").fill("1");
    await page.getByTestId("filter-toggle").click();
    await page.waitForTimeout(800);
    await page.getByTestId("filter-column").selectOption({ index: 1 });
    await page.waitForTimeout(500);
  },
  "nothing found": async (page) => {
    await page.getByTestId("search").fill("no record has these words");
    await page.waitForTimeout(800);
  },
  table: async (page) => {
    await page.getByTestId("filter-clear").click();
    await page.getByTestId("filter-toggle").click();
    await page.getByTestId("search").fill("1");
    await page.getByTestId("found-table").click();
    await page.getByTestId("table").locator("td, th button").first().waitFor();
  },
  "looking closer": async (page) => {
    await page.getByTestId("table-close").click();
    await page.getByTestId("filter-clear").click();
    const picture = page.getByTestId("compare").getByTestId("picture");
    if ((await picture.count()) > 0) await picture.first().click();
    await page.waitForTimeout(300);
  },
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: FLAGS,
});
let violations = 0;
const WINDOWS = [
  { width: 1400, height: 900 },
  { width: 960, height: 540 },
  { width: 360, height: 740 },
];
const MODES = WINDOWS.flatMap((viewport) =>
  ["light", "dark"].map((colorScheme) => ({ viewport, colorScheme })),
);
for (const { viewport, colorScheme } of MODES) {
  const context = await browser.newContext({
    colorScheme,
    bypassCSP: true,
    viewport,
  });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => window.nearkin?.version != null, null, { timeout: 60_000 });
  await page.waitForTimeout(1000);
  await page.evaluate(AXE);
  for (const [state, reach] of Object.entries(STATES)) {
    await reach(page);
    const found = await page.evaluate(() =>
      window.axe.run({ rules: { "target-size": { enabled: true } } }),
    );
    for (const { id, impact, help, nodes } of found.violations) {
      violations++;
      console.log(`${viewport.width}, ${colorScheme}, ${state}: ${id} (${impact}): ${help}`);
      for (const node of nodes.slice(0, 4)) console.log(`    ${node.html.slice(0, 160)}`);
    }
  }
  await context.close();
}
await browser.close();
console.log(`${violations} violations`);
process.exitCode = violations > 0 ? 1 : 0;
