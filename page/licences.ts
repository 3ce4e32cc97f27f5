/**
 * Notices of what is bundled: of every package that a module comes from, and of all that regl-scatterplot depends on,
 * since it has copies of most of that inside. They are shown on the page, and kept in licences/bundled.txt for those who
 * pass the package on.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const ROOT = "regl-scatterplot";
const KEPT = "licences/bundled.txt";

interface Package {
  version: string;
  license: string;
  dependencies?: Record<string, string>;
}

function packageOf(name: string): Package {
  return JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8")) as Package;
}

/** A package and all that it depends on. */
function withDependencies(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const needed of Object.keys(packageOf(name).dependencies ?? {})) {
    withDependencies(needed, found);
  }
  return found;
}

function noticeOf(name: string): string {
  const folder = join("node_modules", name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined || !existsSync(join(folder, file))) {
    throw new Error(`${name} has no licence file.`);
  }
  const { version, license } = packageOf(name);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
}

/** The package that a module belongs to, if it is not our own. */
export function packageOfModule(id: string): string | null {
  const found = /.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(id)?.[1];
  return found?.replace("\\", "/") ?? null;
}

export function licences(fileName: string): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle(_, bundle) {
      const names = withDependencies(ROOT);
      for (const part of Object.values(bundle)) {
        for (const id of part.type === "chunk" ? Object.keys(part.modules) : []) {
          const name = packageOfModule(id);
          if (name !== null) names.add(name);
        }
      }
      const notices = [...names].sort().map(noticeOf);
      // A copy, not a dependency.
      notices.push(`kdbush 4.0.2 (ISC)\n\n${readFileSync("licences/kdbush.txt", "utf8").trim()}`);
      const source = `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
      this.emitFile({ type: "asset", fileName, source });
      if (!existsSync(KEPT) || readFileSync(KEPT, "utf8") !== source) writeFileSync(KEPT, source);
    },
  };
}
