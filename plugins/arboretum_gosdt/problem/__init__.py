"""A problem as integers: tests as bits, equal rows as one object; and back to trees and proofs."""
