// The numbers of all nodes side by side. A cycle asks hundreds of nodes whether there is room; kept in the nodes themselves, each
// number is a box of its own somewhere in memory, and waiting for those took half of the cycle.

const columns = 12;

export class NodeTable {
  values: Float64Array;

  constructor(rows: number) {
    this.values = new Float64Array(rows * columns);
  }

  grow(rows: number): void {
    const values = new Float64Array(rows * columns);
    values.set(this.values);
    this.values = values;
  }
}

/** Where the numbers of a row begin. */
export const startOf = (row: number): number => row * columns;

export const podsLeft = 0;
export const cpuLeft = 1;
export const memoryLeft = 2;
export const storageLeft = 3;
export const cpuTaken = 4;
export const memoryTaken = 5;
export const storageTaken = 6;
/** What was taken if pods that ask for nothing are taken to need a little. */
export const cpuLikely = 7;
export const memoryLikely = 8;
export const cpuCapacity = 9;
export const memoryCapacity = 10;
