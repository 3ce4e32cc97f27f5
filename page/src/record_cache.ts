/** Records that were asked for, the latest kept. */

import type { DataRecord } from "./logic/types";

const KEPT = 400;

type FetchRecord = (row: number, beside?: number, whole?: boolean) => Promise<DataRecord>;

export class RecordCache {
  private readonly promises = new Map<string, Promise<DataRecord>>();
  private readonly arrived = new Map<string, DataRecord>();
  private readonly names = new Map<number, string>();

  constructor(private readonly fetchRecord: FetchRecord) {}

  /** A record; beside another one, with features that stand out in either. */
  get(row: number, beside?: number): Promise<DataRecord> {
    const key = keyOf(row, beside);
    const known = this.promises.get(key);
    if (known !== undefined) return known;
    const promise = this.fetchRecord(row, beside);
    this.promises.set(key, promise);
    promise.then(
      (record) => {
        this.arrived.set(key, record);
        this.names.set(row, String(record.id));
      },
      () => this.promises.delete(key),
    );
    this.dropOldest();
    return promise;
  }

  /** Both records of a pair. */
  pair(left: number, right: number): Promise<[DataRecord, DataRecord]> {
    return Promise.all([this.get(left, right), this.get(right, left)]);
  }

  /** A record with all of its texts, however long; not kept. */
  whole(row: number, beside?: number): Promise<DataRecord> {
    return this.fetchRecord(row, beside, true);
  }

  /** A record, if it is here already. */
  peek(row: number): DataRecord | undefined {
    return this.arrived.get(keyOf(row));
  }

  /** Both records of a pair, if they are here already. */
  peekPair(left: number, right: number): [DataRecord, DataRecord] | undefined {
    const one = this.arrived.get(keyOf(left, right));
    const two = this.arrived.get(keyOf(right, left));
    return one === undefined || two === undefined ? undefined : [one, two];
  }

  /** What a record is called, if that is known. */
  name(row: number): string | undefined {
    return this.names.get(row);
  }

  private dropOldest(): void {
    if (this.promises.size <= KEPT) return;
    const oldest = this.promises.keys().next().value as string;
    this.promises.delete(oldest);
    this.arrived.delete(oldest);
  }
}

function keyOf(row: number, beside?: number): string {
  return beside === undefined ? `${row}` : `${row} ${beside}`;
}
