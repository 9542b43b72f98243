"""The search for a pair: the two neighbours of a domain that a function moves the most between.

| module     | idea                                                                        |
|------------|-----------------------------------------------------------------------------|
| constants  | numbers, texts and dates that the function's code compares with             |
| space      | a domain and a relation as units of cells, and pairs that are made of them  |
| making     | pairs that code is likely to treat apart                                    |
| showing    | what a few runs with the same noise show of a pair                          |
| invariants | combinations of parts that no noise reaches                                 |
| climbing   | ascent from the best pairs                                                  |
| shrinking  | fewer and simpler records that show as much                                 |
| engine     | all of it, within a number of calls                                         |

What it finds is a guess that nobody has to believe: an audit certifies on outputs of its own.
"""
