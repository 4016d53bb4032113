import type { ComponentProps } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  /** `danger`: the action destroys something. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
}

export function Button({ kind = 'plain', type = 'button', className = '', ...rest }: ButtonProps) {
  return <button type={type} className={`button button-${kind} ${className}`} {...rest} />;
}
