/** Records that were asked for, the latest kept. */

import type { DataRecord } from "./logic/types";

const KEPT = 400;

export class RecordCache {
  private readonly promises = new Map<number, Promise<DataRecord>>();
  private readonly arrived = new Map<number, DataRecord>();

  constructor(private readonly fetchRecord: (row: number) => Promise<DataRecord>) {}

  get(row: number): Promise<DataRecord> {
    const known = this.promises.get(row);
    if (known !== undefined) return known;
    const promise = this.fetchRecord(row);
    this.promises.set(row, promise);
    promise.then(
      (record) => this.arrived.set(row, record),
      () => this.promises.delete(row),
    );
    this.dropOldest();
    return promise;
  }

  /** The record if it is here already. */
  peek(row: number): DataRecord | undefined {
    return this.arrived.get(row);
  }

  private dropOldest(): void {
    if (this.promises.size <= KEPT) return;
    const oldest = this.promises.keys().next().value as number;
    this.promises.delete(oldest);
    this.arrived.delete(oldest);
  }
}
