/** Pictures that were asked for, the latest kept, as addresses within this page. */

/** Pixels of the longer side that the server offers. */
export const SIDES = [160, 400, 800, 1600];

/** Of all pictures together: a large one counts for as many small ones as it has room for. */
const KEPT = 1024;

type FetchPicture = (row: number, side: number) => Promise<Blob>;

/** The smallest side that is sharp where a picture is this wide on the screen. */
export function sideFor(cssPixels: number, density: number): number {
  return SIDES.find((side) => side >= cssPixels * density) ?? SIDES[SIDES.length - 1];
}

export class PictureCache {
  private readonly addresses = new Map<string, Promise<string>>();
  private size = 0;

  constructor(private readonly fetchPicture: FetchPicture) {}

  /** The address of a row's picture. */
  get(row: number, side = SIDES[0]): Promise<string> {
    const key = `${row} ${side}`;
    const known = this.addresses.get(key);
    const address = known ?? this.fetchPicture(row, side).then(URL.createObjectURL);
    this.addresses.delete(key);
    this.addresses.set(key, address);
    if (known !== undefined) return address;
    this.size += weight(key);
    address.catch(() => this.drop(key));
    while (this.size > KEPT && this.addresses.size > 1) this.dropOldest();
    return address;
  }

  private drop(key: string): void {
    if (this.addresses.delete(key)) this.size -= weight(key);
  }

  private dropOldest(): void {
    const [key, address] = this.addresses.entries().next().value as [string, Promise<string>];
    this.drop(key);
    address.then(URL.revokeObjectURL, () => undefined);
  }
}

function weight(key: string): number {
  return (Number(key.split(" ")[1]) / SIDES[0]) ** 2;
}
