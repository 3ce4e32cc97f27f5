/** Notices of what is bundled. regl-scatterplot has copies of most of its dependencies inside, so all are listed. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const ROOT = "regl-scatterplot";

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

export function licences(fileName: string): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle() {
      const notices = [...withDependencies(ROOT)].sort().map(noticeOf);
      // A copy, not a dependency.
      notices.push(`kdbush 4.0.2 (ISC)\n\n${readFileSync("licences/kdbush.txt", "utf8").trim()}`);
      const source = `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
      this.emitFile({ type: "asset", fileName, source });
    },
  };
}
