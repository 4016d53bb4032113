declare module 'postject' {
  /** Adds a resource to a program file in place. Supports ELF, Mach-O and PE. */
  export function inject(
    file: string,
    resourceName: string,
    content: Buffer,
    options: { readonly sentinelFuse: string; readonly machoSegmentName: string },
  ): Promise<void>;
}
