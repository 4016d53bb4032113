import type { InputsKey } from '../en/inputs.ts';

export const inputs: Readonly<Record<InputsKey, string>> = {
  'inputs.title': 'Archivos de otros trabajos',
  'inputs.result': 'Modelo final',
  'inputs.best': 'Mejor punto de control',
  'inputs.newest': 'Último punto de control',
  'inputs.stateNewest': 'Estado más reciente para continuar',
  'inputs.stateBest': 'Mejor estado para continuar',
  'inputs.step': 'Punto de control del paso {step}',
  'inputs.path': 'Otro archivo o carpeta',
  'inputs.pending': 'se elige cuando empieza este trabajo',
  'inputs.missing': 'Ese trabajo no tiene este archivo.',
  'inputs.gone': 'trabajo eliminado',
  'inputs.count': '{count, plural, one {# archivo} other {# archivos}}, {size}',
  'inputs.add': 'Usar un archivo de {name}',
  'inputs.file': 'Archivo de {name}',
  'inputs.where': 'Archivo, carpeta o punto de control',
  'inputs.whereHint': 'Por ejemplo, samples/cat.png o checkpoint 500',
  'inputs.name': 'Nombre de la entrada',
  'inputs.remove': 'No usar {input}',
  'inputs.hint': 'En la configuración, {placeholder} es la ruta del archivo.',
};
