/** Pictures that were asked for, the latest kept, as addresses within this page. */

const KEPT = 256;

type FetchPicture = (row: number) => Promise<Blob>;

export class PictureCache {
  private readonly addresses = new Map<number, Promise<string>>();

  constructor(private readonly fetchPicture: FetchPicture) {}

  /** The address of a row's picture. */
  get(row: number): Promise<string> {
    const address = this.addresses.get(row) ?? this.fetchPicture(row).then(URL.createObjectURL);
    this.addresses.delete(row);
    this.addresses.set(row, address);
    address.catch(() => this.addresses.delete(row));
    if (this.addresses.size > KEPT) this.dropOldest();
    return address;
  }

  private dropOldest(): void {
    const [row, address] = this.addresses.entries().next().value as [number, Promise<string>];
    this.addresses.delete(row);
    address.then(URL.revokeObjectURL, () => undefined);
  }
}
