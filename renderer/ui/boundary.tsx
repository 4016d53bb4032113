import { Component, type ReactNode } from 'react';

interface BoundaryProps {
  readonly children: ReactNode;
}

/** A page that breaks says so, and takes no other one along. */
export class Boundary extends Component<BoundaryProps, { readonly failure: Error | null }> {
  override state = { failure: null as Error | null };

  static getDerivedStateFromError(failure: Error) {
    return { failure };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <div className="page" role="alert">
        <h1>{failure.name}</h1>
        <pre>{failure.message}</pre>
      </div>
    );
  }
}
