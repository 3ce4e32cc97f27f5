/** Runs of an asynchronous task, one at a time; a call during one brings about one more after it. */
export function coalesced(task: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const run = async (): Promise<void> => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await task();
    } finally {
      running = false;
    }
    if (again) {
      again = false;
      void run();
    }
  };
  return () => void run();
}
