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
  name: string;
  version: string;
  license: string;
  dependencies?: Record<string, string>;
}

function packageIn(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;
}

/** The folder of a package as another one finds it, whose own may hold another version. */
function folderOf(name: string, from: string): string {
  const folder = join(from, "node_modules", name);
  if (existsSync(folder)) return folder;
  const outer = from.lastIndexOf("node_modules");
  if (outer < 0) throw new Error(`${name} is not installed.`);
  return folderOf(name, from.slice(0, outer));
}

/** The folders of a package and of all that it depends on. */
function withDependencies(folder: string, found = new Set<string>()): Set<string> {
  if (found.has(folder)) return found;
  found.add(folder);
  for (const needed of Object.keys(packageIn(folder).dependencies ?? {})) {
    withDependencies(folderOf(needed, folder), found);
  }
  return found;
}

function noticeOf(folder: string): string {
  const { name, version, license } = packageIn(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
}

/** The folder of the package that a module belongs to, if it is not our own. */
export function folderOfModule(id: string): string | null {
  const found = /node_modules[/\\](?:.*[/\\]node_modules[/\\])?(?:@[^/\\]+[/\\])?[^/\\]+/.exec(id);
  return found === null ? null : join(found[0]);
}

export function licences(fileName: string): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle(_, bundle) {
      const folders = withDependencies(folderOf(ROOT, ""));
      for (const part of Object.values(bundle)) {
        for (const id of part.type === "chunk" ? Object.keys(part.modules) : []) {
          const folder = folderOfModule(id);
          if (folder !== null) folders.add(folder);
        }
      }
      const notices = new Set([...folders].map(noticeOf).sort());
      // A copy, not a dependency.
      notices.add(`kdbush 4.0.2 (ISC)\n\n${readFileSync("licences/kdbush.txt", "utf8").trim()}`);
      const source = `${[...notices].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
      this.emitFile({ type: "asset", fileName, source });
      if (!existsSync(KEPT) || readFileSync(KEPT, "utf8") !== source) writeFileSync(KEPT, source);
    },
  };
}
