/** Asynchronous tasks, one after the other. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();

  /** Run a task when all before it are done, however they ended. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task, task);
    this.last = result.catch(() => undefined);
    return result;
  }
}
