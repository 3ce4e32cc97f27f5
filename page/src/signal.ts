/** A value that tells its listeners when it changes. */
export class Signal<T> {
  private listeners: ((value: T, before: T) => void)[] = [];

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    const before = this.current;
    this.current = value;
    for (const listener of this.listeners) listener(value, before);
  }

  /** Be told of changes from now on. */
  listen(listener: (value: T, before: T) => void): void {
    this.listeners.push(listener);
  }

  /** Be told of the value there is and of changes. */
  show(listener: (value: T) => void): void {
    this.listen(listener);
    listener(this.current);
  }
}

/** Anything that can be listened to. */
export interface Source {
  listen(listener: () => void): void;
}

/** Call a function now and whenever one of the signals changes. */
export function showAll(sources: Source[], show: () => void): void {
  for (const source of sources) source.listen(show);
  show();
}
