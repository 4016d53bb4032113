declare module 'postject' {
  /** Adds a resource to a program, and changes the file. Formats: ELF, Mach-O and PE. */
  export function inject(
    file: string,
    resourceName: string,
    content: Buffer,
    options: { readonly sentinelFuse: string; readonly machoSegmentName: string },
  ): Promise<void>;
}
