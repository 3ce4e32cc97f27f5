import { expect, it } from "vitest";
import { Queue } from "../src/queue";

const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it("runs tasks in their order, and goes on after one that failed", async () => {
  const queue = new Queue();
  const done: string[] = [];
  const slow = queue.run(async () => {
    await soon(20);
    done.push("slow");
    return 1;
  });
  const failed = queue.run(async () => {
    done.push("failed");
    throw new Error("no");
  });
  const quick = queue.run(async () => {
    done.push("quick");
    return 3;
  });
  await expect(failed).rejects.toThrow("no");
  expect(await slow).toBe(1);
  expect(await quick).toBe(3);
  expect(done).toEqual(["slow", "failed", "quick"]);
});
