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
  groups: async (page) => {
    await page.keyboard.press("a");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("b");
    await page.waitForTimeout(300);
  },
  "groups found": async (page) => {
    await page.keyboard.press("Escape");
    await page.getByTestId("find-groups").click();
    await page.getByTestId("found-group").first().waitFor({ timeout: 120_000 });
    await page.getByTestId("found-group").first().click();
    await page.waitForTimeout(300);
  },
  "two groups chosen": async (page) => {
    await page.getByTestId("found-group").nth(1).click();
    await page.waitForTimeout(300);
  },
  suspects: async (page) => {
    await page.keyboard.press("Escape");
    await page.getByTestId("tab-suspects").click();
  },
  export: async (page) => page.getByTestId("export").click(),
  help: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForTimeout(300);
  },
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: FLAGS,
});
let violations = 0;
for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({
    colorScheme,
    bypassCSP: true,
    viewport: { width: 1400, height: 900 },
  });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => window.nearkin?.version != null, null, { timeout: 60_000 });
  await page.waitForTimeout(1000);
  await page.evaluate(AXE);
  for (const [state, reach] of Object.entries(STATES)) {
    await reach(page);
    const found = await page.evaluate(() => window.axe.run());
    for (const { id, impact, help, nodes } of found.violations) {
      violations++;
      console.log(`${colorScheme}, ${state}: ${id} (${impact}): ${help}`);
      for (const node of nodes.slice(0, 4)) console.log(`    ${node.html.slice(0, 160)}`);
    }
  }
  await context.close();
}
await browser.close();
console.log(`${violations} violations`);
process.exitCode = violations > 0 ? 1 : 0;
